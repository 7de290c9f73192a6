"""Registering, finding and listing, as the API of Confluent's registry does it."""

from __future__ import annotations

import hashlib
import uuid

from tests.registry_server.conftest import Ask
from tests.registry_server.schemas import OTHER, SPACED, TEAM, USER, USER_2, USER_3

ANSWER = {"schemaType": "AVRO", "schema": USER}
GUID = str(uuid.UUID(bytes=hashlib.md5(USER.encode()).digest()))


def test_a_schema_gets_an_id_and_a_version_and_keeps_them(ask: Ask) -> None:
    registered = {"id": 1, "version": 1, "guid": GUID, **ANSWER}
    assert ask("POST /subjects/s/versions", {"schema": USER}) == (200, registered)
    # The same, written otherwise.
    assert ask("POST /subjects/s/versions", {"schema": SPACED}) == (200, registered)
    status, found = ask("GET /subjects/s/versions/1")
    assert found.pop("ts") > 1_700_000_000_000
    assert (status, found) == (200, {"subject": "s", "deleted": False, **registered})
    assert ask("GET /subjects/s/versions/latest")[1]["version"] == 1
    assert ask("GET /subjects/s/versions/1/schema")[1] == {
        "type": "record",
        "name": "User",
        "fields": [{"name": "id", "type": "long"}],
    }
    status, found = ask("GET /schemas/ids/1")
    found.pop("ts")
    assert (status, found) == (200, {"guid": GUID, "deleted": False, **ANSWER})
    assert ask(f"GET /schemas/guids/{GUID}")[1]["schema"] == USER
    assert ask(f"GET /schemas/guids/{GUID}/ids") == (200, [{"context": ".", "id": 1}])
    assert ask("GET /schemas/ids/1/schema")[1]["name"] == "User"


def test_the_same_schema_has_the_same_id_in_other_subjects(ask: Ask) -> None:
    ask("POST /subjects/a/versions", {"schema": USER})
    assert ask("POST /subjects/b/versions", {"schema": USER_2})[1]["id"] == 2
    assert ask("POST /subjects/b/versions", {"schema": USER})[1]["id"] == 1
    assert ask("GET /schemas/ids/1/subjects") == (200, ["a", "b"])
    assert ask("GET /schemas/ids/1/versions") == (
        200,
        [{"subject": "a", "version": 1}, {"subject": "b", "version": 2}],
    )
    # Metadata make it another one.
    assert ask("POST /subjects/a/versions", {"schema": USER, "metadata": {}})[1]["id"] == 3


def test_what_is_not_there_is_told_in_the_originals_words(ask: Ask) -> None:
    ask("POST /subjects/s/versions", {"schema": USER})
    for line, code, message in [
        ("GET /subjects/t/versions", 40401, "Subject 't' not found."),
        ("GET /subjects/t/versions/1", 40401, "Subject 't' not found."),
        ("GET /subjects/t/metadata?key=a&value=b", 40401, "Subject 't' not found."),
        ("GET /subjects/s/versions/2", 40402, "Version 2 not found."),
        ("GET /subjects/s/metadata?key=a&value=b", 40403, "Schema not found"),
        ("GET /schemas/ids/9", 40403, "Schema 9 not found"),
        ("GET /schemas/ids/9/subjects", 40403, "Schema not found"),
        ("GET /schemas/guids/none", 40403, "Schema none not found"),
        ("GET /schemas/ids/x", 404, "HTTP 404 Not Found"),
        ("GET /nowhere", 404, "HTTP 404 Not Found"),
    ]:
        assert ask(line) == (404, {"error_code": code, "message": message})
    assert ask("POST /subjects/t", {"schema": USER})[1]["error_code"] == 40401
    assert ask("POST /subjects/s", {"schema": OTHER}) == (
        404,
        {"error_code": 40403, "message": "Schema not found"},
    )
    assert ask("GET /subjects/s/versions/none") == (
        422,
        {
            "error_code": 42202,
            "message": "The specified version 'none' is not a valid version id. Allowed values are between "
            '[1, 2^31-1] and the string "latest"',
        },
    )
    assert [
        ask(f"GET /subjects/s/versions/{each}")[1]["error_code"] for each in ("0", "-2", "2147483648")
    ] == [42202] * 3
    assert ask("GET /subjects/s/versions/-1")[1]["version"] == 1


def test_a_schema_that_is_none_is_refused(ask: Ask) -> None:
    for body, words in [
        ({"schema": "{"}, "Invalid schema of type AVRO, details: "),
        ({"schema": '{"type":"record"}'}, "Invalid schema of type AVRO, details: "),
        ({"schema": ""}, "Empty schema"),
        ({}, "Empty schema"),
        ({"schema": USER, "schemaType": "XML"}, "Invalid schema type XML"),
        (
            {"schema": TEAM, "references": [{"name": "User", "subject": "user", "version": 1}]},
            "Invalid schema of type AVRO, details: "
            'No schema reference found for subject "user" and version 1',
        ),
        (
            {"schema": TEAM, "references": [{"name": "User", "version": 1}]},
            "Invalid schema of type AVRO, details: "
            "Invalid reference: {name='User', subject='None', version=1}",
        ),
    ]:
        status, found = ask("POST /subjects/s/versions", body)
        assert (status, found["error_code"]) == (422, 42201)
        assert found["message"].startswith(words)
    assert ask("GET /subjects")[1] == []


def test_subjects_and_versions_are_listed_by_pages(ask: Ask) -> None:
    for subject in ("b", "a", "c"):
        for schema in (USER, USER_2):
            ask(f"POST /subjects/{subject}/versions", {"schema": schema})
    assert ask("GET /subjects") == (200, ["a", "b", "c"])
    assert ask("GET /subjects?offset=1&limit=1") == (200, ["b"])
    assert ask("GET /subjects?subjectPrefix=b") == (200, ["b"])
    assert ask("GET /subjects/a/versions?offset=1") == (200, [2])
    assert ask("GET /subjects/a/versions?limit=-1") == (200, [1, 2])
    assert [(each["subject"], each["version"]) for each in ask("GET /schemas?offset=1&limit=3")[1]] == [
        ("a", 2),
        ("b", 1),
        ("b", 2),
    ]
    assert [each["version"] for each in ask("GET /schemas?latestOnly=true")[1]] == [2, 2, 2]
    assert ask("GET /subjects?offset=-1")[0] == 422
    assert ask("GET /subjects?limit=x") == (404, {"error_code": 404, "message": "HTTP 404 Not Found"})


def test_the_latest_version_is_found_by_metadata(ask: Ask) -> None:
    for schema, major in ((USER, "1"), (USER_2, "1"), (USER_3, "2")):
        metadata = {"properties": {"major": major, "b": "x"}, "tags": {"User.id": ["PII"]}}
        ask("POST /subjects/s/versions", {"schema": schema, "metadata": metadata})
    assert ask("GET /subjects/s/metadata?key=major&value=1")[1]["version"] == 2
    assert ask("GET /subjects/s/metadata?key=major&value=2&key=b&value=x")[1]["version"] == 3
    assert ask("GET /subjects/s/metadata?key=major&value=3")[1]["error_code"] == 40403
    found = ask("GET /subjects/s/versions/1")[1]["metadata"]
    assert found == {"tags": {"User.id": ["PII"]}, "properties": {"b": "x", "major": "1"}}


def test_metadata_and_rules_are_taken_over_from_the_version_before(ask: Ask) -> None:
    rules = {"domainRules": [{"name": "r", "type": "CEL", "mode": "WRITE", "kind": "CONDITION"}]}
    first = {"schema": USER, "metadata": {"properties": {"a": "1"}}, "ruleSet": rules}
    ask("POST /subjects/s/versions", first)
    second = ask("POST /subjects/s/versions", {"schema": USER_2})[1]
    assert second["metadata"] == {"properties": {"a": "1"}}
    assert second["ruleSet"]["domainRules"][0]["disabled"] is False
    # Whoever asks need not say them either.
    assert ask("POST /subjects/s", {"schema": USER_2})[1]["version"] == 2
    # Nor a schema at all: then only the rest is new.
    third = ask("POST /subjects/s/versions", {"metadata": {"properties": {"a": "2"}}})[1]
    assert (third["version"], third["schema"]) == (3, USER_2)


def test_rules_that_are_none_are_refused(ask: Ask) -> None:
    rule = {"name": "r", "type": "CEL", "mode": "WRITE", "kind": "CONDITION"}
    for rules, words in [
        ({"domainRules": [rule, rule]}, "Found rule with duplicate name 'r'"),
        ({"domainRules": [{**rule, "mode": "UPGRADE"}]}, "Domain rules can only be WRITE, READ, WRITEREAD"),
        ({"migrationRules": [rule]}, "Migration rules can only be UPGRADE, DOWNGRADE, UPDOWN"),
        ({"domainRules": [{**rule, "name": "1"}]}, "Illegal initial character in rule name: 1"),
        ({"domainRules": [{**rule, "name": "a b"}]}, "Illegal character in rule name: a b"),
        ({"domainRules": [{**rule, "name": "a" * 257}]}, "Rule name too long"),
        ({"domainRules": [{**rule, "type": None}]}, "Missing rule type"),
        (
            {"domainRules": [{**rule, "onFailure": "NONE,DLQ"}]},
            "Multiple actions only valid with WRITEREAD and UPDOWN",
        ),
    ]:
        refused = ask("POST /subjects/s/versions", {"schema": USER, "ruleSet": rules})
        assert refused == (422, {"error_code": 42210, "message": words})


def test_schemas_with_rules_of_a_type_are_listed(ask: Ask) -> None:
    rule = {"name": "r", "type": "ENCRYPT", "mode": "WRITEREAD", "kind": "TRANSFORM"}
    ask("POST /subjects/a/versions", {"schema": USER, "ruleSet": {"domainRules": [rule]}})
    ask("POST /subjects/b/versions", {"schema": USER})
    assert [each["subject"] for each in ask("GET /schemas?ruleType=ENCRYPT")[1]] == ["a"]


def test_references_are_kept_found_and_protected(ask: Ask) -> None:
    ask("POST /subjects/user/versions", {"schema": USER})
    latest = [{"name": "User", "subject": "user", "version": -1}]
    team = ask("POST /subjects/team/versions", {"schema": TEAM, "references": latest})[1]
    assert team["references"] == [{"name": "User", "subject": "user", "version": 1}]
    assert ask("GET /subjects/user/versions/1/referencedby") == (200, [team["id"]])
    assert ask("POST /subjects/team", {"schema": TEAM, "references": latest})[1]["version"] == 1
    resolved = ask("GET /subjects/team/versions/1?format=resolved")[1]
    assert resolved["schema"] == (
        '{"type":"record","name":"Team","fields":[{"name":"lead","type":' + USER + "}]}"
    )
    assert resolved["guid"] == team["guid"]
    # The same schema with all inside is the same schema.
    assert ask("POST /subjects/team", {"schema": resolved["schema"]})[1]["version"] == 1
    assert ask("POST /subjects/team/versions", {"schema": resolved["schema"]})[1]["id"] == team["id"]
    refused = {
        "error_code": 42206,
        "message": "One or more references exist to the schema "
        "{magic=1,keytype=SCHEMA,subject=user,version=1}.",
    }
    assert ask("DELETE /subjects/user") == (422, refused)
    assert ask("DELETE /subjects/user/versions/1") == (422, refused)
    ask("DELETE /subjects/team")
    assert ask("GET /subjects/user/versions/1/referencedby") == (200, [])
    assert ask("GET /subjects/user/versions/1/referencedby?deleted=true") == (200, [team["id"]])
    assert ask("DELETE /subjects/user") == (200, [1])
    # What may be brought back still needs it.
    assert ask("DELETE /subjects/user?permanent=true") == (422, refused)
    ask("DELETE /subjects/team?permanent=true")
    assert ask("DELETE /subjects/user?permanent=true") == (200, [1])


def test_normalizing_finds_what_means_the_same(ask: Ask) -> None:
    one = '{"type":"int","logicalType":"date","b":1,"a":2}'
    other = '{"type":"int","a":2,"b":1,"logicalType":"date"}'
    ask("POST /subjects/s/versions?normalize=true", {"schema": one})
    assert ask("GET /schemas/ids/1/schema")[1] == {"type": "int", "logicalType": "date", "a": 2, "b": 1}
    assert ask("POST /subjects/s", {"schema": other})[0] == 404
    assert ask("POST /subjects/s?normalize=true", {"schema": other})[1]["version"] == 1
    ask("PUT /config", {"normalize": True})
    assert ask("POST /subjects/s/versions", {"schema": other})[1]["id"] == 1


def test_tags_are_written_into_the_next_version(ask: Ask) -> None:
    rule = {"name": "r", "type": "CEL", "mode": "WRITE", "kind": "CONDITION"}
    ask("POST /subjects/s/versions", {"schema": USER, "ruleSet": {"domainRules": [rule]}})
    field = {"entityPath": ".User.id", "entityType": "sr_field"}
    record = {"entityPath": "User", "entityType": "sr_record"}
    request = {
        "newVersion": 2,
        "tagsToAdd": [
            {"schemaEntity": field, "tags": ["PII", "KEY"]},
            {"schemaEntity": record, "tags": ["T"]},
        ],
        "rulesToMerge": {"domainRules": [{**rule, "name": "q"}]},
        "rulesToRemove": ["r"],
    }
    status, found = ask("POST /subjects/s/versions/latest/tags", request)
    assert (status, found["version"]) == (200, 2)
    assert found["schema"] == (
        '{"type":"record","name":"User","fields":[{"name":"id","type":"long",'
        '"confluent:tags":["PII","KEY"]}],"confluent:tags":["T"]}'
    )
    assert found["metadata"] == {"properties": {"confluent:version": "2"}}
    assert [each["name"] for each in found["ruleSet"]["domainRules"]] == ["q"]
    tagged = ask("GET /subjects/s/versions/2?findTags=PII")[1]["schemaTags"]
    assert tagged == [
        {"schemaEntity": {"entityPath": "User.id", "entityType": "sr_field"}, "tags": ["PII", "KEY"]}
    ]
    assert len(ask(f"GET /schemas/ids/{found['id']}?findTags=*")[1]["schemaTags"]) == 2
    removed = {"newVersion": 3, "tagsToRemove": [{"schemaEntity": field, "tags": ["KEY"]}]}
    third = ask("POST /subjects/s/versions/2/tags", removed)[1]
    assert '"confluent:tags":["PII"]' in third["schema"]
    propagated = ask("POST /subjects/s/versions", {"schema": USER_2, "propagateSchemaTags": True})[1]
    assert '"confluent:tags":["PII"]' in propagated["schema"]
    lost = {"tagsToAdd": [{"schemaEntity": {**field, "entityPath": "User.no"}, "tags": ["PII"]}]}
    assert ask("POST /subjects/s/versions/1/tags", lost) == (
        422,
        {
            "error_code": 42201,
            "message": "Invalid schema of type AVRO, details: No matching path 'User.no' found in the schema",
        },
    )


def test_names_of_subjects_may_have_any_letters(ask: Ask) -> None:
    assert ask("POST /subjects/a%2Fb%20%C3%A9%3F/versions", {"schema": USER})[0] == 200
    assert ask("GET /subjects") == (200, ["a/b é?"])
    assert ask("GET /subjects/a%2Fb%20%C3%A9%3F/versions") == (200, [1])
    for name in ("__GLOBAL", "__EMPTY", "a%00b", ":.__GLOBAL:x"):
        assert ask(f"POST /subjects/{name}/versions", {"schema": USER})[1]["error_code"] == 42208
