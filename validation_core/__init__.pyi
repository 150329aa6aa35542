"""What `import validation_core` offers, each name from its home; `__init__.py` reads this file."""

from .api.check import check as check
from .api.checkpoints import Checkpoints as Checkpoints
from .api.compare import ComparisonResult as ComparisonResult
from .api.compare import compare as compare
from .api.diagnose import DiagnosisResult as DiagnosisResult
from .api.diagnose import QuestionResult as QuestionResult
from .api.diagnose import ask as ask
from .api.diagnose import diagnose as diagnose
from .api.divergence import ALGORITHMS as ALGORITHMS
from .api.divergence import MODELS as MODELS
from .api.divergence import DivergenceResult as DivergenceResult
from .api.divergence import divergence as divergence
from .api.mend import MendResult as MendResult
from .api.mend import mend as mend
from .api.observation import ObservationResult as ObservationResult
from .api.observation import observation as observation
from .api.power import PowerResult as PowerResult
from .api.power import power as power
from .api.reliability import ReliabilityResult as ReliabilityResult
from .api.reliability import reliability as reliability
from .api.result import Result as Result
from .api.run import MethodResult as MethodResult
from .api.run import run as run
from .api.table import Table as Table
from .api.table import read as read
from .api.watch import StreamResult as StreamResult
from .api.watch import watch as watch
from .benchmarks import BENCHMARKS as BENCHMARKS
from .benchmarks import BayesModel as BayesModel
from .benchmarks import Boundary as Boundary
from .benchmarks import Gaussian as Gaussian
from .benchmarks import Spiral as Spiral
from .benchmarks import Tree as Tree
from .diagnosis import Record as Record
from .drawing.drawn import Drawn as Drawn
from .methods import C2ST as C2ST
from .methods import DC as DC
from .methods import LC2ST as LC2ST
from .methods import METHODS as METHODS
from .methods import SBC as SBC
from .methods import SKL as SKL
from .methods import TARP as TARP
from .methods import AutoML as AutoML
from .methods import CoLT as CoLT
from .methods import MMDFuse as MMDFuse
from .methods import Multiple as Multiple
from .methods import Omnibus as Omnibus
from .methods import Uniform as Uniform
from .methods import WithinX as WithinX
from .store import Store as Store
from .tables.source import AmbiguousOrder as AmbiguousOrder
from .tables.truth_ranks import UnknownMaxRank as UnknownMaxRank
from .types import PowerCell as PowerCell

__all__: list[str]
__version__: str
