"""The types of options agree with their methods, and a misspelled option is named."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

import mesh
from mesh import sync
from mesh.client import options as o
from mesh.client.connected import Connected
from mesh.client.posting import Posting
from mesh.client.sending import SendingVerbs
from mesh.embedded.client import NodeClient
from mesh.features.queues.client.putting import Putting

TAKEN_APART: list[tuple[Any, Callable[..., Any]]] = [
    (o.PublishOptions, Posting._prepared),
    (o.SendOptions, SendingVerbs._letter),
    (o.PutOptions, Putting._prepared),
    (o.ConnectOptions, Connected.__init__),
    (o.NodeOptions, NodeClient.__init__),
]
SHOWN: list[tuple[Any, Callable[..., Any], set[str]]] = [
    (o.PublishOptions, mesh.Client.post, set()),
    *((o.PublishOptions, getattr(mesh.Client, name), {"timeout"})
      for name in ("publish", "publish_many", "publish_oneway")),
    (o.SendOptions, mesh.Client.send, {"timeout"}),
    (o.PutOptions, mesh.Queue.post, set()),
    (o.PutOptions, mesh.Queue.put, {"timeout"}),
    (o.PutOptions, mesh.Queue.put_many, {"timeout"}),
    (o.ConnectOptions, mesh.connect, set()),
    (o.ConnectOptions, mesh.Client, set()),
    (o.ConnectOptions, mesh.testing.Mesh.connect, set()),
    (o.NodeOptions, mesh.node, set()),
]  # fmt: skip


def keywords(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    found = inspect.signature(function).parameters
    return {name: it for name, it in found.items() if it.kind is it.KEYWORD_ONLY}


@pytest.mark.parametrize(("options", "method"), TAKEN_APART)
def test_a_method_takes_what_the_type_names(options: Any, method: Callable[..., Any]) -> None:
    types = {name: hint.__forward_arg__ for name, hint in options.__annotations__.items()}
    assert types == {name: it.annotation for name, it in keywords(method).items()}


@pytest.mark.parametrize(("options", "call", "more"), SHOWN)
def test_help_shows_each_option_with_its_default(
    options: Any, call: Callable[..., Any], more: set[str]
) -> None:
    shown = keywords(call)
    assert shown.keys() == options.__annotations__.keys() | more
    assert not any(it.default is it.empty for it in shown.values())
    defaults = [it.default for name, it in keywords(dict(TAKEN_APART)[options]).items()]
    assert [it.default for name, it in shown.items() if name not in more] == defaults
    assert not any(it.kind is it.VAR_KEYWORD for it in inspect.signature(call).parameters.values())


def test_the_two_kinds_of_subscriptions_have_the_options_of_subscribe() -> None:
    both = o.SubscribeOptions.__annotations__ | o.DurableOptions.__annotations__
    assert keywords(mesh.Client.subscribe).keys() == both.keys() | {"durable", "type"}


def calls(m: Any) -> list[Callable[..., Any]]:
    q = m.queue("q")
    return [
        lambda **how: m.publish("k", b"x", **how),
        lambda **how: m.publish_oneway("k", b"x", **how),
        lambda **how: m.publish_many("k", [], **how),
        lambda **how: m.post("k", b"x", **how),
        lambda **how: m.send("client/joe", b"x", **how),
        lambda **how: m.send([], b"x", **how),
        lambda **how: q.put(b"x", **how),
        lambda **how: q.put_many([], **how),
        lambda **how: q.post(b"x", **how),
    ]


def test_a_misspelled_option_is_named_with_the_one_that_was_meant() -> None:
    async def scenario() -> None:
        async with mesh.testing.Mesh() as net, net.connect() as m:
            for call in calls(m):
                with pytest.raises(TypeError, match=r"argument 'prioritty'. Did you mean 'priority'\?"):
                    await call(prioritty=7)
                with pytest.raises(TypeError, match=r"argument 'q'$"):
                    await call(q=7)

    asyncio.run(scenario())


@pytest.mark.parametrize("open_", [mesh.connect, sync.connect, mesh.node, sync.node])
def test_a_misspelled_option_of_a_client_is_named(open_: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"argument 'timout'. Did you mean 'timeout'\?"):
        open_(timout=5)


def test_a_type_checker_knows_the_options() -> None:
    """Strict mypy reports each `ignore` below that it does not need."""
    client = mesh.connect()
    with pytest.raises(TypeError):
        client.post("k", b"x", prioritty=7)  # type: ignore[call-arg]
    with pytest.raises(mesh.BadArgument):
        client.post("k", b"x", priority="7")  # type: ignore[arg-type]
    with pytest.raises(mesh.Closed):
        sync.connect().post("k", b"x", prioritty=7)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        mesh.connect(timout=5)  # type: ignore[call-arg]


def test_what_resembles_nothing_and_the_name_itself_are_not_proposed() -> None:
    assert str(o.unknown_option(["xyz"], o.PutOptions)) == "unexpected keyword argument 'xyz'"
    assert "Did you" not in str(o.unknown_option(["timeout"], o.PutOptions))
