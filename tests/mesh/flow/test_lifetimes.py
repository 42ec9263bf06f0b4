"""Keys expire by their own lifetimes, however they began."""

from mesh.flow.lifetimes import Lifetimes


def test_each_key_expires_after_its_own_lifetime() -> None:
    lives = Lifetimes[str]()
    lives.begin("long", 10.0, 0.0)
    lives.begin("short", 1.0, 5.0)
    assert (lives.is_over("short", 5.9), lives.is_over("short", 6.0)) == (False, True)
    assert lives.pop_over(6.0, 9) == ["short"]
    assert (len(lives), "long" in lives, lives.is_over("short", 99.0)) == (1, True, False)
    assert lives.pop_over(10.0, 9) == ["long"] and not lives


def test_a_key_that_begins_again_has_a_new_time_and_a_forgotten_one_has_none() -> None:
    lives = Lifetimes[str]()
    lives.begin("a", 1.0, 0.0)
    lives.begin("b", 1.0, 0.5)
    lives.begin("a", 1.0, 0.9)
    assert lives.pop_over(1.8, 9) == ["b"]
    lives.begin("a", 5.0, 1.0)
    assert lives.pop_over(2.0, 9) == []
    assert (lives.forget_key("a"), lives.forget_key("a")) == (True, False)
    assert lives.pop_over(99.0, 9) == []


def test_one_call_removes_at_most_as_many_as_asked_and_the_oldest_goes_first() -> None:
    lives = Lifetimes[int]()
    for key in range(5):
        lives.begin(key, 1.0 + key % 2, 0.0)
    assert lives.pop_oldest() == 0
    assert len(lives.pop_over(9.0, 3)) == 3 and len(lives) == 1
    lives.clear()
    assert lives.pop_over(9.0, 3) == []
