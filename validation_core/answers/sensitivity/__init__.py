"""Sensitivity: what would these tests have caught on this table?

A draw of q plays the truth and is then moved, or is chosen with unequal chances, so that q has a
known defect of a known size; the tests of the diagnosis judge many such tables, networks trained
on the same defect included.
"""

from validation_core.answers.sensitivity.task import DEFAULT, Sensitivity, obstacle, tasks
from validation_core.answers.sensitivity.told import gather, say, table

__all__ = [
    "CODE",
    "DEFAULT",
    "HOW",
    "Sensitivity",
    "gather",
    "obstacle",
    "say",
    "table",
    "tasks",
]

HOW = (
    "Each curve is the share of tables in which a defect of that strength is found: a draw of q "
    "plays the truth and is moved, in one parameter or direction drawn at random or in all "
    "parameters, so that q is wrong by just that much. Nats are the divergence KL of the truth "
    "from q, worked out as if q were normal where the sentence says so. Where the curve of the "
    "verdict passes 80%, a defect of that size would most likely not have stayed unseen. Whether "
    "q is right or not, the curves begin at the level, about 5%, on the left. Tests that were not "
    "asked at a strength count as silent there: the verdict's power is then a lower bound."
)

CODE = """import tempfile
from pathlib import Path

from validation_core import diagnosis, uploads
from validation_core.answers import sensitivity
from validation_core.diagnosis import tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
store = Store(Path(tempfile.mkdtemp()))
work = sensitivity.tasks(upload, diagnosis.default_methods(), {seed})
for task in work:
    task.run(store, lambda fraction, live: None)
found = sensitivity.gather([task.load(store) for task in work])
print(*sensitivity.say(found, upload.names), sep="\\n")
"""
