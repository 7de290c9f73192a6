"""Configurations and modes."""

from __future__ import annotations

import pytest
from tests.registry_server.conftest import Ask, asking
from tests.registry_server.schemas import OTHER, USER, USER_2, USER_3


def test_settings_are_changed_one_by_one(ask: Ask) -> None:
    assert ask("GET /config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert ask("GET /config/s") == (
        404,
        {"error_code": 40408, "message": "Subject 's' does not have subject-level compatibility configured"},
    )
    assert ask("PUT /config/s", {"compatibility": "full"}) == (200, {"compatibility": "FULL"})
    changed = ask("PUT /config/s", {"normalize": True, "compatibilityGroup": "g"})
    assert changed == (200, {"normalize": True, "compatibility": "FULL", "compatibilityGroup": "g"})
    taken = ask("PUT /config/s", {"compatibilityGroup": None})
    assert taken == (200, {"normalize": True, "compatibility": "FULL"})
    assert ask("GET /config/s") == (200, {"normalize": True, "compatibilityLevel": "FULL"})
    assert ask("DELETE /config/s") == (200, {"normalize": True, "compatibilityLevel": "FULL"})
    assert ask("DELETE /config/s") == (404, {"error_code": 40401, "message": "Subject 's' not found."})


def test_every_setting_is_kept(ask: Ask) -> None:
    rule = {"name": "r", "type": "CEL", "kind": "CONDITION", "mode": "WRITE", "disabled": False}
    settings = {
        "alias": "a",
        "aliasForDeks": "b",
        "normalize": False,
        "validateFields": True,
        "validateNewSchemas": True,
        "validateRules": True,
        "compatibilityLevel": "NONE",
        "compatibilityPolicy": "LENIENT",
        "compatibilityGroup": "g",
        "defaultMetadata": {"properties": {"a": "b"}},
        "overrideMetadata": {"sensitive": ["a"]},
        "defaultRuleSet": {"domainRules": [rule]},
        "overrideRuleSet": {"encodingRules": [rule]},
    }
    ask("PUT /config", settings)
    assert ask("GET /config") == (200, settings)
    assert ask("DELETE /config") == (200, settings)
    assert ask("GET /config") == (200, {"compatibilityLevel": "BACKWARD"})


def test_a_subject_has_the_settings_around_it_unless_it_has_its_own(ask: Ask) -> None:
    assert ask("GET /config/s?defaultToGlobal=true") == (200, {"compatibilityLevel": "BACKWARD"})
    ask("PUT /config", {"compatibility": "FULL", "normalize": True})
    assert ask("GET /config/s?defaultToGlobal=true")[1] == {"normalize": True, "compatibilityLevel": "FULL"}
    ask("PUT /config/s", {"compatibility": "NONE"})
    assert ask("GET /config/s?defaultToGlobal=true")[1] == {"normalize": True, "compatibilityLevel": "NONE"}
    assert ask("GET /config/:.c:s?defaultToGlobal=true")[1] == {"compatibilityLevel": "BACKWARD"}
    ask("PUT /config/:.__GLOBAL:", {"compatibility": "FORWARD"})
    assert ask("GET /config/:.c:s?defaultToGlobal=true")[1] == {"compatibilityLevel": "FORWARD"}
    ask("PUT /contexts/c/config", {"compatibility": "FULL_TRANSITIVE"})
    assert ask("GET /config/:.c:s?defaultToGlobal=true")[1] == {"compatibilityLevel": "FULL_TRANSITIVE"}


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (
            {"compatibility": "SIDEWAYS"},
            42203,
            "Invalid compatibility level. Valid values are none, backward",
        ),
        ({"compatibility": 5}, 42203, "Invalid compatibility level"),
        ({"compatibility": []}, 422, "a text was to be expected"),
        ({"compatibilityPolicy": "HARSH"}, 422, "Invalid compatibility policy"),
        ({"defaultRuleSet": {"domainRules": [{"name": "r"}]}}, 42210, "Missing rule type"),
        ({"normalize": "perhaps"}, 422, "true or false"),
        ({"unknown": 1}, 422, "Unrecognized field: unknown"),
        ({"defaultMetadata": {"unknown": 1}}, 422, "Unrecognized field: unknown"),
        ([], 422, "an object was to be expected"),
    ],
)
def test_settings_that_are_none_are_refused(ask: Ask, body: object, code: int, words: str) -> None:
    status, found = ask("PUT /config/s", body)
    assert (status, found["error_code"]) == (422, code)
    assert found["message"].startswith(words)
    assert ask("GET /config/s")[0] == 404


def test_defaults_are_overridden_by_a_schema_and_overrides_are_not(ask: Ask) -> None:
    ask(
        "PUT /config/s",
        {
            "defaultMetadata": {"properties": {"a": "default", "b": "default"}},
            "overrideMetadata": {"properties": {"c": "override"}},
        },
    )
    given = {"properties": {"b": "own", "c": "own"}}
    found = ask("POST /subjects/s/versions", {"schema": USER, "metadata": given})[1]["metadata"]
    assert found == {"properties": {"a": "default", "b": "own", "c": "override"}}


def test_an_alias_stands_for_a_subject(ask: Ask) -> None:
    ask("POST /subjects/real/versions", {"schema": USER})
    ask("PUT /config/other", {"alias": "real"})
    assert ask("GET /subjects/other/versions") == (200, [1])
    assert ask("POST /subjects/other/versions", {"schema": USER_2})[1]["version"] == 2
    assert ask("GET /subjects") == (200, ["real"])
    assert ask("GET /schemas/ids/1?subject=other")[1]["subject"] == "real"
    assert [each.get("aliases") for each in ask("GET /schemas?aliases=true&latestOnly=true")[1]] == [
        ["other"]
    ]
    # Settings are the alias's own.
    assert ask("GET /config/other")[1]["alias"] == "real"


def test_modes_hold_where_they_are_set(ask: Ask) -> None:
    ask("POST /subjects/s/versions", {"schema": USER})
    assert ask("GET /mode") == (200, {"mode": "READWRITE"})
    assert ask("GET /mode/s") == (
        404,
        {"error_code": 40409, "message": "Subject 's' does not have subject-level mode configured"},
    )
    assert ask("PUT /mode", {"mode": "readonly"}) == (200, {"mode": "readonly"})
    assert ask("GET /mode/s?defaultToGlobal=true") == (200, {"mode": "READONLY"})
    refused = {"error_code": 42205, "message": "Subject s in context  is in read-only mode"}
    assert ask("POST /subjects/s/versions", {"schema": USER_2}) == (422, refused)
    assert ask("DELETE /subjects/s") == (422, refused)
    assert ask("DELETE /subjects/s/versions/1") == (422, refused)
    assert ask("PUT /config/s", {"compatibility": "NONE"}) == (422, refused)
    # What is there is found.
    assert ask("POST /subjects/s/versions", {"schema": USER})[1]["version"] == 1
    ask("PUT /mode/s", {"mode": "READWRITE"})
    assert ask("POST /subjects/s/versions", {"schema": USER_2})[1]["version"] == 2
    assert ask("DELETE /mode/s") == (200, {"mode": "READWRITE"})
    assert ask("DELETE /mode/s") == (404, {"error_code": 40401, "message": "Subject 's' not found."})
    assert ask("DELETE /mode") == (200, {"mode": "READONLY"})
    assert ask("GET /mode") == (200, {"mode": "READWRITE"})


def test_modes_that_are_none_are_refused(ask: Ask) -> None:
    words = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD."
    assert ask("PUT /mode", {"mode": "SIDEWAYS"}) == (422, {"error_code": 42204, "message": words})
    forward = {"error_code": 42204, "message": "Forward mode only supported on global level"}
    assert ask("PUT /mode", {"mode": "FORWARD"}) == (422, forward)
    assert ask("PUT /mode/:.__GLOBAL:", {"mode": "FORWARD"})[0] == 200


def test_modes_of_a_context_are_deleted_with_those_of_its_subjects(ask: Ask) -> None:
    for subject in (":.c:", ":.c:a", "b"):
        ask(f"PUT /mode/{subject}", {"mode": "READONLY"})
    assert ask("DELETE /mode/:.c:?recursive=true") == (200, {"mode": "READONLY"})
    assert [ask(f"GET /mode/{subject}")[0] for subject in (":.c:", ":.c:a", "b")] == [404, 404, 200]


def test_schemas_are_imported_with_their_ids_and_versions(ask: Ask) -> None:
    words = "Subject s in context  is not in import mode"
    imported = {"schema": USER, "id": 77, "version": 5}
    assert ask("POST /subjects/s/versions", imported) == (422, {"error_code": 42205, "message": words})
    ask("POST /subjects/t/versions", {"schema": USER})
    found = {"error_code": 42205, "message": "Cannot import since found existing subjects"}
    assert ask("PUT /mode", {"mode": "IMPORT"}) == (422, found)
    assert ask("PUT /mode/s", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    words = "Subject s in context  is not in read-write mode"
    assert ask("POST /subjects/s/versions", {"schema": USER_3}) == (
        422,
        {"error_code": 42205, "message": words},
    )
    # The id is the context's: the same schema has one already.
    registered = ask("POST /subjects/s/versions", {**imported, "schema": USER_2})[1]
    assert (registered["id"], registered["version"]) == (77, 5)
    # Whether it follows is not asked.
    assert ask("POST /subjects/s/versions", {"schema": OTHER, "id": 78, "version": 2})[1]["version"] == 2
    assert ask("GET /subjects/s/versions") == (200, [2, 5])
    words = "Overwrite new schema with id 77 in context  is not permitted."
    refused = ask("POST /subjects/s/versions", {"schema": USER_3, "id": 77, "version": 6})
    assert refused == (422, {"error_code": 42205, "message": words})
    ask("PUT /mode/s", {"mode": "READWRITE"})
    assert ask("POST /subjects/t/versions", {"schema": USER_3})[1]["id"] == 79
    assert ask("GET /schemas/ids/77?fetchMaxId=true")[1]["maxId"] == 79


def test_a_mode_of_import_clears_what_was_deleted(ask: Ask) -> None:
    ask("POST /subjects/s/versions", {"schema": USER})
    ask("DELETE /subjects/s")
    assert ask("PUT /mode", {"mode": "IMPORT"})[0] == 200
    assert ask("GET /subjects?deleted=true") == (200, [])
    ask("POST /subjects/t/versions", {"schema": USER_2, "id": 1, "version": 1})
    ask("PUT /mode", {"mode": "READWRITE"})
    assert ask("PUT /mode?force=true", {"mode": "IMPORT"})[0] == 200
    assert ask("GET /subjects") == (200, ["t"])


def test_a_version_must_be_the_next(ask: Ask) -> None:
    ask("POST /subjects/s/versions", {"schema": USER})
    refused = {"error_code": 42201, "message": "Version is not one more than previous version"}
    assert ask("POST /subjects/s/versions", {"schema": USER_2, "version": 5}) == (422, refused)
    assert ask("POST /subjects/s/versions", {"schema": USER_2, "version": 2})[1]["version"] == 2
    # So told apart from the version before, which is the same.
    again = ask("POST /subjects/s/versions", {"schema": USER_2, "version": 3})[1]
    assert again["metadata"] == {"properties": {"confluent:version": "3"}}


def test_a_default_level_holds_where_none_is_set() -> None:
    with asking(default_level="NONE") as ask:
        assert ask("GET /config") == (200, {"compatibilityLevel": "NONE"})
        assert ask("GET /config/s?defaultToGlobal=true") == (200, {"compatibilityLevel": "NONE"})
        for schema in ('"int"', '"string"'):
            assert ask("POST /subjects/s/versions", {"schema": schema})[0] == 200
        ask("PUT /config", {"compatibility": "FULL"})
        assert ask("DELETE /config")[1] == {"compatibilityLevel": "FULL"}
        assert ask("GET /config")[1] == {"compatibilityLevel": "NONE"}


def test_modes_that_may_not_change_do_not() -> None:
    with asking(modes_change=False) as ask:
        for line in ("PUT /mode", "PUT /mode/s", "DELETE /mode", "DELETE /mode/s"):
            assert ask(line, {"mode": "READONLY"} if "PUT" in line else None) == (
                422,
                {"error_code": 42205, "message": "Mode changes are not allowed"},
            )
        assert ask("GET /mode") == (200, {"mode": "READWRITE"})
