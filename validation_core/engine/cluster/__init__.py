"""Work on a Dask cluster, bit for bit as on this machine; the extra `distributed` is needed.

The app and the command line can hand their work to a Dask cluster;
results are the same to the bit, and land in the store here. (Only an AutoML witness whose time ran
out depends on the machine.) By hand, in the folder of this program
and with `pip install '.[dask]'` on every machine:

    dask scheduler --port 8786
    PYTHONPATH=. dask worker tcp://HOST:8786 --nthreads 1 --nworkers 2  # on each machine
    NPTLAB_SCHEDULER=tcp://HOST:8786 streamlit run app.py
    python -m validation_core power ... --engine dask:tcp://HOST:8786

Workers need this program in the same state and the same numpy, scipy, torch and geomloss; one that
differs, or computes with more than one BLAS thread, gets no task and is named. They share no disk:
what a task reads goes with it (`entries.names_read`), large networks are scattered once, and Dask
moves them. A worker that dies costs the tasks it was at; others run them, and the counts are the
same. Workers that come later join in. Start a worker that has a GPU with `--resources "GPU=1"`:
tasks that run networks then go to those, one for each GPU, and the others to any.

Where the scheduler does not answer within seconds, jobs and the command fail and say what to do;
they run on this machine instead with `NPTLAB_FALLBACK=local` or `--engine dask:ADDRESS,local`.
What workers send is checked before it is kept: each entry is under its own key and of its declared
type, networks are finite, p-values within [0, 1] and one for each trial. A worker that fails gets
no further task, and others do what it was given. This finds mistakes, not malice: whoever reaches
a Dask scheduler can run anything on its workers, and they on this machine. Keep the cluster on a
network that you trust.

Where workers compute on a GPU, here or on a cluster, one task that runs a network has it at a time
and the others queue for it; tasks that run none go on beside it on the other workers. A task whose
worker process ends unexpectedly is tried once more before it fails.
"""
