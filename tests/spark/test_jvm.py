"""The start and the end of the JVM, with any Java and without needless output."""

import os
import socket
import struct
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER, ClientServer, JavaParameters, PythonParameters

from mesh.history import jvm
from mesh.history.errors import SparkJobError
from mesh.history.java import Java
from tests.spark.test_java import java


def said(text: str) -> str:
    return b"".join(jvm.news(line.encode() for line in text.splitlines(keepends=True))).decode()


def test_what_is_said_at_each_start_is_left_out() -> None:
    start = (
        "WARNING: Using incubator modules: jdk.incubator.vector\n"
        "Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties\n"
        'Setting default log level to "WARN".\n'
        "To adjust logging level use sc.setLogLevel(newLevel).\n"
        "26/11/21 12:24:17 WARN NativeCodeLoader: Unable to load native-hadoop library\n"
        'Setting Spark log level to "ERROR".\n'
    )
    assert said(start) == ""


def test_what_java_itself_has_to_say_is_passed_on_also_behind_the_log() -> None:
    text = (
        "26/11/21 12:24:17 ERROR Executor: Exception in task 0.0\n"
        "org.apache.spark.SparkException: something\n"
        "\tat org.apache.spark.Some.thing(Some.scala:1)\n"
        'Exception in thread "main" java.lang.OutOfMemoryError: Java heap space\n'
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
    )
    assert said(text).splitlines() == text.splitlines()[3:]


def test_a_java_that_has_all_modules_is_used_as_it_is(tmp_path: Path) -> None:
    home = java(tmp_path / "home", "17.0.15")
    (home / "release").write_text('MODULES="java.base jdk.incubator.vector"\n')
    assert jvm.home(Java(home, 17)) == str(home)
    (home / "release").unlink()  # some releases of Java have no such file
    assert jvm.home(Java(home, 17)) == str(home)


def test_a_java_without_the_module_is_not_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('MODULES="java.base java.sql"\n')
    (home / "bin" / "java").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (home / "bin" / "java").chmod(0o700)
    program = Path(jvm.home(Java(home, 25)), "bin", "java")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "", "$HOME"]
    told = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines() == ["-cp", "a b", "--add-modules=java.sql", "", "$HOME"]


def dies_at_a_request(java: socket.socket) -> None:
    """Reset a connection at its first request, as the end of a process does that has not read it."""
    with java, java.accept()[0] as connection:
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_an_object_that_is_freed_while_the_jvm_ends_leaves_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While the program ends, py4j still reports once a second which objects Python has freed."""
    java = socket.create_server(("127.0.0.1", 0))
    dying = threading.Thread(target=dies_at_a_request, args=(java,), daemon=True)
    dying.start()
    gateway = ClientServer(JavaParameters(port=java.getsockname()[1]), PythonParameters(port=0))
    client = gateway._gateway_client
    connection = client._get_connection()
    try:
        client._give_back_connection(connection)
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as gateway.proc:
            jvm.end(gateway)
        client.garbage_collect_object("o1", enqueue=False)
    finally:
        client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)
        connection.close()
        gateway.shutdown_callback_server()
        dying.join()
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize(
    ("options", "of_java", "noexec", "given"),
    [
        ("-Xa", "", "", "-Xa"),
        ("-Xa", "", "/tmp", '-Xa "-Djava.io.tmpdir=/mine"'),
        ("", "", "/tmp /mine", '"-Djava.io.tmpdir=/var/tmp"'),
        ("", "-Djava.io.tmpdir=/there", "/tmp", ""),
        ("-Xa", "-Djava.io.tmpdir=/there", "/there /mine", '-Xa "-Djava.io.tmpdir=/var/tmp"'),
        ("-Djava.io.tmpdir=/own", "-Djava.io.tmpdir=/there", "/there", "-Djava.io.tmpdir=/own"),
        ('"-Djava.io.tmpdir=/my own"', "", "/tmp", '"-Djava.io.tmpdir=/my own"'),
    ],
)
def test_java_unpacks_native_code_where_it_may_be_run(
    options: str, of_java: str, noexec: str, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/mine")
    environ = {"JAVA_TOOL_OPTIONS": of_java}
    assert jvm.unpacking(options, environ, lambda place: place not in noexec.split()) == given


def test_without_a_place_for_native_code_it_is_said_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SparkJobError, match="noexec") as refused:
        jvm.unpacking("", {}, lambda place: False)
    assert refused.value.code == "JAVA" and "TMPDIR" in refused.value.hint
    assert jvm.may_run(str(tmp_path)) and not jvm.may_run(str(tmp_path / "none"))


def test_nothing_may_be_run_where_it_is_mounted_noexec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.statvfs", lambda place: SimpleNamespace(f_flag=os.ST_NOEXEC | os.ST_NOSUID))
    assert not jvm.may_run("/tmp")
