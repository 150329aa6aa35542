"""Numbers of the CoLT paper: Tables 3 and 4, the tree of Section 1, curvatures of Appendix C.5."""

from validation_core.published.printed import PrintedTable

_DIMENSIONS = ((3, 3), (10, 10), (50, 10), (100, 100))

BLIND_PRIOR = PrintedTable(
    "colt",
    "Table 3",
    "Power where q ignores x",
    "(x, θ)",
    _DIMENSIONS,
    {
        "CoLT ID": (1.0, 1.0, 1.0, 1.0),
        "CoLT Full": (0.975, 0.778, 0.693, 0.452),
        "C2ST": (1.0, 1.0, 0.847, 0.122),
        "SBC": (0.052, 0.028, 0.048, 0.040),
        "TARP": (0.053, 0.047, 0.035, 0.068),
    },
    {
        "CoLT ID": (0.0, 0.0, 0.0, 0.0),
        "CoLT Full": (0.014, 0.222, 0.307, 0.260),
        "C2ST": (0.0, 0.0, 0.038, 0.007),
        "SBC": (0.004, 0.007, 0.007, 0.015),
        "TARP": (0.004, 0.012, 0.009, 0.004),
    },
)

TYPE_ONE = PrintedTable(
    "colt",
    "Table 4",
    "Rejections where q is p, at the level of 5%",
    "(x, θ)",
    _DIMENSIONS,
    {
        "CoLT ID": (0.0567, 0.0550, 0.0467, 0.0433),
        "CoLT Full": (0.0400, 0.0400, 0.0517, 0.0467),
        "C2ST": (0.0767, 0.0433, 0.0200, 0.0233),
        "SBC": (0.0400, 0.0350, 0.0350, 0.0350),
        "TARP": (0.0367, 0.0383, 0.0517, 0.0433),
    },
    {
        "CoLT ID": (0.0093, 0.0076, 0.0044, 0.0017),
        "CoLT Full": (0.0076, 0.0029, 0.0109, 0.0093),
        "C2ST": (0.0044, 0.0067, 0.0050, 0.0073),
        "SBC": (0.0104, 0.0, 0.0, 0.0087),
        "TARP": (0.0093, 0.0017, 0.0109, 0.0017),
    },
    form=".4f",
)

TREE = PrintedTable(
    "colt",
    "Section 1",
    "Power on the tree",
    "alpha",
    (1.5, 4.0),
    {"CoLT Full": (0.877, 1.0), "C2ST": (0.0, 0.065)},
)

CURVATURE = PrintedTable(
    "colt",
    "Appendix C.5",
    "Total absolute curvature of the principal curve",
    "θ",
    ("straight", "curved"),
    {"Curvature": (62, 400)},
    form=".0f",
)
