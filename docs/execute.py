"""Run the notebooks from top to bottom and keep their outputs, without progress bars and times.

python docs/execute.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).with_name("notebooks")


def main() -> None:
    """Replace the outputs; a cell that fails ends it, and its notebook stays as it was."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        language = dict(notebook.metadata)
        with TemporaryDirectory() as folder:
            client = NotebookClient(notebook, resources={"metadata": {"path": folder}})
            client.execute()
        notebook.metadata = language
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
            if cell.cell_type == "code":
                cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
