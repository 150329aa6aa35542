"""Run the notebooks of assets/notebooks from top to bottom and keep their outputs.

python docs/execute.py [NAME ...]
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "assets" / "notebooks"


def main(names: list[str]) -> None:
    """Replace the outputs; a cell that fails ends it, and its notebook stays as it was."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        language = dict(notebook.metadata)
        with TemporaryDirectory() as folder:
            client = NotebookClient(notebook, resources={"metadata": {"path": folder}})
            client.execute()
        notebook.metadata = language
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main(sys.argv[1:])
