"""What pages keep for all sessions: made once, and never with a gap."""

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from pages.ui.once import once, same
from validation_core.methods import C2ST, Multiple, Uniform


def key():
    """A key that no other test has."""
    return ("test", uuid.uuid4().hex)


def test_forty_who_ask_for_the_same_wait_for_one_computation():
    name, calls = key(), []

    def make():
        calls.append(1)
        time.sleep(0.05)
        return object()

    with ThreadPoolExecutor(40) as pool:
        made = list(pool.map(lambda _: once(name, make), range(40)))
    assert len(calls) == 1
    assert all(each is made[0] for each in made)


def test_what_was_made_while_a_file_went_is_shown_and_not_kept():
    name = key()
    assert once(name, lambda: "half", lambda: False) == "half"
    assert once(name, lambda: "whole", lambda: True) == "whole"
    assert once(name, lambda: "another") == "whole"


def test_an_equal_value_is_the_one_of_before_and_another_kind_is_not():
    first = same((Uniform(m=7), C2ST()))
    assert same((Uniform(m=7), C2ST())) is first
    assert same((Uniform(m=8), C2ST())) is not first
    assert same((Uniform(m=7), Multiple())) == (Uniform(m=7), Multiple())
