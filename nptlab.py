"""NPT Lab by the name it is installed under: `import nptlab` is `import validation_core`.

    import nptlab as npt

Every name is the very object of `validation_core`, fetched when it is first used.
"""

from typing import TYPE_CHECKING

import validation_core

if TYPE_CHECKING:
    from validation_core import *  # noqa: F403

__all__ = validation_core.__all__
__version__ = validation_core.__version__


def __getattr__(name: str) -> object:
    return getattr(validation_core, name)


def __dir__() -> list[str]:
    return dir(validation_core)
