"""Deleting softly and for good."""

from __future__ import annotations

from tests.registry_server.conftest import Ask
from tests.registry_server.schemas import USER, USER_2, USER_3


def register(ask: Ask, *schemas: str, subject: str = "s") -> None:
    for schema in schemas:
        assert ask(f"POST /subjects/{subject}/versions", {"schema": schema})[0] == 200


def test_a_version_is_hidden_then_gone(ask: Ask) -> None:
    register(ask, USER, USER_2)
    assert ask("DELETE /subjects/s/versions/1?permanent=true") == (
        404,
        {
            "error_code": 40407,
            "message": "Subject 's' Version 1 was not deleted first before being permanently deleted",
        },
    )
    assert ask("DELETE /subjects/s/versions/1") == (200, 1)
    assert ask("DELETE /subjects/s/versions/1") == (
        404,
        {
            "error_code": 40406,
            "message": "Subject 's' Version 1 was soft deleted.Set permanent=true to delete permanently",
        },
    )
    assert ask("GET /subjects/s/versions") == (200, [2])
    assert ask("GET /subjects/s/versions?deleted=true") == (200, [1, 2])
    assert ask("GET /subjects/s/versions?deletedOnly=true") == (200, [1])
    assert ask("GET /subjects/s/versions?deletedAsNegative=true") == (200, [-1, 2])
    assert ask("GET /subjects/s/versions/1")[1]["error_code"] == 40402
    assert ask("GET /subjects/s/versions/1?deleted=true")[1]["deleted"] is True
    # Data that was written by it can still be read.
    assert ask("GET /schemas/ids/1")[0] == 200
    assert ask("GET /schemas/ids/1/subjects") == (200, [])
    assert ask("GET /schemas/ids/1/subjects?deleted=true") == (200, ["s"])
    assert ask("POST /subjects/s", {"schema": USER})[1]["error_code"] == 40403
    assert ask("POST /subjects/s?deleted=true", {"schema": USER})[1]["version"] == 1
    assert ask("DELETE /subjects/s/versions/1?permanent=true") == (200, 1)
    assert ask("GET /schemas/ids/1")[1]["error_code"] == 40403
    assert ask("DELETE /subjects/s/versions/1")[1]["error_code"] == 40402
    assert ask("DELETE /subjects/t/versions/1")[1]["error_code"] == 40401
    assert ask("DELETE /subjects/s/versions/latest") == (200, 2)


def test_a_subject_is_hidden_then_gone(ask: Ask) -> None:
    register(ask, USER, USER_2)
    register(ask, USER, subject="t")
    ask("PUT /config/s", {"compatibility": "NONE"})
    ask("PUT /mode/s", {"mode": "READWRITE"})
    assert ask("DELETE /subjects/s?permanent=true") == (
        404,
        {
            "error_code": 40405,
            "message": "Subject 's' was not deleted first before being permanently deleted",
        },
    )
    assert ask("DELETE /subjects/s") == (200, [1, 2])
    assert ask("DELETE /subjects/s") == (
        404,
        {
            "error_code": 40404,
            "message": "Subject 's' was soft deleted.Set permanent=true to delete permanently",
        },
    )
    assert ask("GET /subjects") == (200, ["t"])
    assert ask("GET /subjects?deleted=true") == (200, ["s", "t"])
    assert ask("GET /subjects?deletedOnly=true") == (200, ["s"])
    assert [each["version"] for each in ask("GET /schemas?deleted=true&subjectPrefix=s")[1]] == [1, 2]
    assert ask("GET /subjects/s/versions")[1]["error_code"] == 40401
    assert ask("GET /subjects/s/versions?deleted=true") == (200, [1, 2])
    assert ask("DELETE /subjects/s?permanent=true") == (200, [1, 2])
    assert ask("GET /subjects?deleted=true") == (200, ["t"])
    # Its settings go with it.
    assert ask("GET /config/s")[1]["error_code"] == 40408
    assert ask("GET /mode/s")[1]["error_code"] == 40409
    assert ask("GET /schemas/ids/1/subjects") == (200, ["t"])
    assert ask("DELETE /subjects/s")[1]["error_code"] == 40401


def test_what_is_registered_again_has_its_id_again_and_a_new_version(ask: Ask) -> None:
    register(ask, USER, USER_2)
    ask("DELETE /subjects/s")
    again = ask("POST /subjects/s/versions", {"schema": USER})[1]
    assert (again["id"], again["version"]) == (1, 3)
    # The version that was the same is gone for good.
    assert ask("GET /subjects/s/versions?deleted=true") == (200, [2, 3])
    assert ask("POST /subjects/s/versions", {"schema": USER_3})[1]["id"] == 3


def test_a_subject_that_is_gone_begins_anew_and_ids_go_on(ask: Ask) -> None:
    register(ask, USER)
    ask("DELETE /subjects/s")
    ask("DELETE /subjects/s?permanent=true")
    again = ask("POST /subjects/s/versions", {"schema": USER})[1]
    assert (again["id"], again["version"]) == (2, 1)
