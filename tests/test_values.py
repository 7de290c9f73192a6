"""`frozen` makes of a class what `dataclass(frozen=True, slots=True)` does, and `mutable` what
`dataclass(slots=True, eq=False)` does."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from barnabas.values import frozen, mutable

T = TypeVar("T")


@frozen
class Place:
    name: str
    tags: list[str] = field(default_factory=list[str])
    secret: str = field(default="s", repr=False)
    seen: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DataclassPlace:
    name: str
    tags: list[str] = field(default_factory=list[str])
    secret: str = field(default="s", repr=False)
    seen: int = field(default=0, compare=False)


@frozen
class City(Place):
    size: int = 1


@frozen(kw_only=True)
class Settings:
    """What is set."""

    name: str
    limit: int = 7


@frozen
class Nothing:
    pass


@frozen
class Numbered:
    kind: ClassVar[str] = "number"
    number: int


@frozen
class Box(Generic[T]):
    content: T


@mutable
class Count:
    name: str
    seen: list[str] = field(default_factory=list[str])
    total: int = 0


@dataclass(slots=True, eq=False)
class DataclassCount:
    name: str
    seen: list[str] = field(default_factory=list[str])
    total: int = 0


COUNTS = pytest.mark.parametrize("cls", [Count, DataclassCount])
BOTH = pytest.mark.parametrize("cls", [Place, DataclassPlace])


@BOTH
def test_fields_are_given_by_place_or_name_and_have_their_defaults(cls: Any) -> None:
    place = cls("here", secret="x")
    assert (place.name, place.tags, place.secret, place.seen) == ("here", [], "x", 0)
    assert cls("here").tags is not cls("here").tags


@BOTH
def test_what_is_missing_or_unknown_is_refused_by_name(cls: Any) -> None:
    for _ in range(2):
        with pytest.raises(
            TypeError, match=r"Place.__init__\(\) missing 1 required positional argument: 'name'"
        ):
            cls()
        with pytest.raises(TypeError, match=r"Place.__init__\(\) got an unexpected keyword argument 'size'"):
            cls("here", size=1)


@BOTH
def test_values_are_equal_and_hash_alike_by_the_fields_that_count(cls: Any) -> None:
    assert cls("here", seen=1) == cls("here", seen=2)
    assert cls("here") != cls("there")
    assert cls("here") != Nothing()
    assert hash(cls("here", tags=(), seen=1)) == hash(cls("here", tags=(), seen=2))


@BOTH
def test_what_is_shown_leaves_out_fields_that_are_not_to_be(cls: Any) -> None:
    assert repr(cls("here")) == f"{cls.__name__}(name='here', tags=[], seen=0)"


@BOTH
def test_fields_cannot_be_set_or_deleted(cls: Any) -> None:
    place = cls("here")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        place.name = "there"
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del place.name


@BOTH
def test_values_can_be_pickled_copied_and_replaced(cls: Any) -> None:
    place = cls("here", ["a"], "x", 3)
    for other in (pickle.loads(pickle.dumps(place)), copy.copy(place), copy.deepcopy(place)):
        assert dataclasses.astuple(other) == ("here", ["a"], "x", 3)
    assert dataclasses.asdict(dataclasses.replace(place, name="there"))["name"] == "there"


@BOTH
def test_values_match_patterns(cls: Any) -> None:
    match cls("here", ["a"]):
        case cls(name, [tag], seen=0):
            assert (name, tag) == ("here", "a")
        case _:
            pytest.fail("the pattern did not match")


@BOTH
def test_the_signature_is_that_of_the_fields_before_the_first_use(cls: Any) -> None:
    expected = "(name: 'str', tags: 'list[str]' = <factory>, secret: 'str' = 's', seen: 'int' = 0)"
    assert str(inspect.signature(cls)).removesuffix(" -> None") == expected


def test_a_class_has_the_fields_of_its_base_before_its_own() -> None:
    assert City("here", size=5) == City("here", [], "s", 0, 5)
    assert City("here") != Place("here")


def test_a_class_whose_fields_are_given_by_name_alone_refuses_places() -> None:
    assert Settings(name="a") == Settings(limit=7, name="a")
    assert Settings.__doc__ == "What is set."
    arguments: Any = ("a",)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        Settings(*arguments)


def test_a_class_without_fields_has_one_value() -> None:
    assert Nothing() == Nothing()
    assert len({Nothing(), Nothing()}) == 1


def test_what_belongs_to_the_class_is_no_field() -> None:
    assert Numbered.kind == Numbered(1).kind == "number"
    assert [each.name for each in dataclasses.fields(Numbered)] == ["number"]


def test_a_class_may_be_generic() -> None:
    assert Box[int](1) == Box(1)
    assert [each.name for each in dataclasses.fields(Box)] == ["content"]


def test_a_class_is_known_as_a_dataclass_before_its_first_use() -> None:
    @frozen
    class Unused:
        name: str = "n"

    assert dataclasses.is_dataclass(Unused)
    assert [(each.name, each.default) for each in dataclasses.fields(Unused)] == [("name", "n")]


def test_a_dataclass_may_have_an_unused_class_as_its_base() -> None:
    @frozen
    class Unused:
        name: str

    @dataclass(slots=True)
    class Derived(Unused):
        size: int = 1

    assert [each.name for each in dataclasses.fields(Derived)] == ["name", "size"]


@COUNTS
def test_fields_that_may_change_are_set_and_have_defaults_of_their_own(cls: Any) -> None:
    first, second = cls("a"), cls("a", total=2)
    first.total += 1
    first.seen.append("x")
    assert (first.total, first.seen, second.total, second.seen) == (1, ["x"], 2, [])
    assert repr(first) == f"{cls.__name__}(name='a', seen=['x'], total=1)"
    with pytest.raises(AttributeError):
        first.other = 1


@COUNTS
def test_what_may_change_is_equal_to_itself_alone_and_can_be_copied(cls: Any) -> None:
    count = cls("a")
    assert count != cls("a")
    assert len({count, count, cls("a")}) == 2
    for other in (pickle.loads(pickle.dumps(count)), copy.copy(count), dataclasses.replace(count)):
        assert dataclasses.astuple(other) == ("a", [], 0)


@COUNTS
def test_the_signature_of_what_may_change_is_that_of_the_fields(cls: Any) -> None:
    expected = "(name: 'str', seen: 'list[str]' = <factory>, total: 'int' = 0)"
    assert str(inspect.signature(cls)).removesuffix(" -> None") == expected
