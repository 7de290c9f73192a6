"""Contexts: of subjects' names, and of paths."""

from __future__ import annotations

from tests.registry_server.conftest import Ask
from tests.registry_server.schemas import TEAM, USER, USER_2


def test_a_context_has_ids_and_subjects_of_its_own(ask: Ask) -> None:
    ask("POST /subjects/s/versions", {"schema": USER_2})
    for line in ("POST /subjects/:.c:s/versions", "POST /contexts/c/subjects/s/versions"):
        assert ask(line, {"schema": USER})[1]["id"] == 1
    assert ask("GET /contexts") == (200, [".", ".c"])
    assert ask("GET /contexts?contextPrefix=.c") == (200, [".c"])
    assert ask("GET /subjects") == (200, [":.c:s", "s"])
    assert ask("GET /contexts/.c/subjects") == (200, [":.c:s"])
    assert ask("GET /subjects?subjectPrefix=") == (200, ["s"])
    assert ask("GET /subjects?subjectPrefix=:.c:") == (200, [":.c:s"])
    assert ask("GET /subjects?subjectPrefix=:*:s") == (200, [":.c:s", "s"])
    assert ask("GET /contexts/.c/subjects/s/versions/1")[1]["schema"] == USER
    assert ask("GET /contexts/:.c:/schemas/ids/1")[1]["schema"] == USER
    assert ask("GET /schemas/ids/1?subject=:.c:")[1]["subject"] == ":.c:s"
    assert ask("GET /schemas/ids/1")[1]["schema"] == USER_2
    assert [each["subject"] for each in ask("GET /contexts/c/schemas")[1]] == [":.c:s"]
    guid = ask("GET /subjects/:.c:s/versions/1")[1]["guid"]
    assert ask(f"GET /schemas/guids/{guid}/ids") == (200, [{"context": ".c", "id": 1}])


def test_a_subject_without_a_context_is_looked_for_in_all(ask: Ask) -> None:
    ask("POST /subjects/:.c:only/versions", {"schema": USER})
    assert ask("GET /subjects/only/versions/1")[1]["subject"] == ":.c:only"
    assert ask("POST /subjects/only", {"schema": USER})[1]["subject"] == ":.c:only"
    assert ask("GET /schemas/ids/1?subject=only")[1]["subject"] == ":.c:only"
    assert ask("GET /subjects/:.d:only/versions/1")[0] == 404


def test_a_reference_is_one_within_the_context(ask: Ask) -> None:
    ask("POST /subjects/:.c:user/versions", {"schema": USER})
    references = [{"name": "User", "subject": "user", "version": 1}]
    body = {"schema": TEAM, "references": references}
    assert ask("POST /subjects/team/versions", body)[1]["error_code"] == 42201
    team = ask("POST /contexts/c/subjects/team/versions", body)[1]
    assert team["references"] == references
    assert ask("GET /subjects/:.c:user/versions/1/referencedby") == (200, [team["id"]])
    qualified = ask("GET /subjects/:.c:team/versions/1?referenceFormat=qualified")[1]
    assert qualified["references"][0]["subject"] == ":.c:user"
    # From another one it is named whole.
    named = [{"name": "User", "subject": ":.c:user", "version": 1}]
    assert ask("POST /subjects/team/versions", {"schema": TEAM, "references": named})[0] == 200


def test_settings_and_modes_of_a_context_have_its_path(ask: Ask) -> None:
    ask("PUT /contexts/.c/config", {"compatibility": "NONE"})
    ask("PUT /contexts/.c/mode", {"mode": "READONLY"})
    assert ask("GET /config/:.c:") == (200, {"compatibilityLevel": "NONE"})
    assert ask("GET /contexts/.c/mode/s?defaultToGlobal=true") == (200, {"mode": "READONLY"})
    assert ask("GET /mode/s?defaultToGlobal=true") == (200, {"mode": "READWRITE"})
    ask("PUT /contexts/.c/config/s", {"compatibility": "FULL"})
    assert ask("GET /config/:.c:s")[0] == 404
    ask("PUT /contexts/.c/mode", {"mode": "READWRITE"})
    ask("PUT /contexts/.c/config/s", {"compatibility": "FULL"})
    assert ask("GET /config/:.c:s") == (200, {"compatibilityLevel": "FULL"})
    # That of all is the default context's.
    assert ask("PUT /contexts/:.:/config", {"compatibility": "FORWARD"})[0] == 200
    assert ask("GET /config") == (200, {"compatibilityLevel": "FORWARD"})


def test_an_empty_context_is_deleted(ask: Ask) -> None:
    ask("POST /subjects/:.c:s/versions", {"schema": USER})
    assert ask("DELETE /contexts/.c") == (
        422,
        {"error_code": 42211, "message": "The specified context ':.c:' is not empty."},
    )
    ask("DELETE /subjects/:.c:s")
    ask("DELETE /subjects/:.c:s?permanent=true")
    assert ask("DELETE /contexts/.c") == (204, None)
    assert ask("GET /contexts") == (200, ["."])


def test_a_context_with_a_colon_is_none(ask: Ask) -> None:
    assert ask("GET /contexts/a:b/subjects") == (
        400,
        {"error_code": 400, "message": "Context name 'a:b' cannot contain a colon"},
    )
