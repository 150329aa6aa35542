# The dashboard for others, as a user who may write to one volume and /tmp alone:
#   docker build -t nptlab .
#   docker run --read-only --tmpfs /tmp -v nptlab:/data -e NPTLAB_PUBLIC=1 -p 8501:8501 nptlab
# The base by its digest: the tag beside it moves with each rebuild. A newer one is taken by hand, as
# a newer lock is: docker buildx imagetools inspect python:3.11-slim
FROM python:3.11-slim@sha256:da047cb8f9d1d98e5c070f5300ba9f7274e33b8fc0e5be5ed88740aed1b95ba9

ENV PATH=/opt/nptlab/bin:$PATH \
    HOME=/tmp \
    NPTLAB_CACHE=/data \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /app

# The exact set that CI tests, with torch's build for CPUs: wheels alone, each held against its hash.
COPY requirements-cpu.lock ./
RUN python -m venv /opt/nptlab \
    && pip install --no-cache-dir --require-hashes --only-binary :all: -r requirements-cpu.lock

COPY LICENSE app.py ./
COPY .streamlit .streamlit
COPY assets/icon.svg assets/
COPY pages pages
COPY validation_core validation_core
# Compiled now: the root file system may be read-only. The volume's owner is the folder's.
RUN python -m compileall -q app.py pages validation_core \
    && groupadd --gid 10001 nptlab \
    && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home nptlab \
    && install -d -o nptlab -g nptlab /data

USER 10001:10001
VOLUME /data
EXPOSE 8501
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8501, timeout=8); c.request('GET', '/api/ready'); exit(c.getresponse().status != 200)"]
CMD ["streamlit", "run", "app.py", "--server.headless", "true"]
