"""What `import validation_core` offers, each name from its home; `__init__.py` reads this file."""

from .benchmarks import BENCHMARKS as BENCHMARKS
from .benchmarks import BayesModel as BayesModel
from .benchmarks import Boundary as Boundary
from .benchmarks import Gaussian as Gaussian
from .benchmarks import Spiral as Spiral
from .benchmarks import Tree as Tree
from .diagnosis import Record as Record
from .figures.outcome import Drawn as Drawn
from .front.compare import ComparisonResult as ComparisonResult
from .front.compare import compare as compare
from .front.diagnose import DiagnosisResult as DiagnosisResult
from .front.diagnose import QuestionResult as QuestionResult
from .front.diagnose import ask as ask
from .front.diagnose import diagnose as diagnose
from .front.divergence import ALGORITHMS as ALGORITHMS
from .front.divergence import MODELS as MODELS
from .front.divergence import DivergenceResult as DivergenceResult
from .front.divergence import divergence as divergence
from .front.power import PowerResult as PowerResult
from .front.power import power as power
from .front.run import MethodResult as MethodResult
from .front.run import run as run
from .front.table import AmbiguousOrder as AmbiguousOrder
from .front.table import Table as Table
from .front.table import read as read
from .front.work import Result as Result
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
from .types import PowerCell as PowerCell

__version__: str
