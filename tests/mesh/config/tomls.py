"""Valid and invalid keys and values of TOML, for tests of their readers."""

from hypothesis import strategies as st

from mesh.config import sections

KEYS = st.sampled_from(
    [
        *sections.FIELDS,
        *sections.SECTIONS,
        "nodes",
        "nodes.a",
        "nodes.a.master",
        "nod.id",
        "x",
        '"a=b#c"',
        '""',
    ]
)
VALUES = st.sampled_from(
    [
        "1",
        "-0.5",
        "'x'",
        "[]",
        "[['a']]",
        "{}",
        "{ id = 1 }",
        "[{}]",
        "[{ domains = ['x'] }]",
        "07:32:00",
        '"""\n[node]\n"""',
    ]
)
