"""Which command prints which shape with `--json`. A test fails for a command that is not here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.cli.json_shapes import administration as admin
from barnabas.cli.json_shapes import records, services
from barnabas.values import frozen


@frozen
class JsonOutput:
    """`when` says which options choose it, where there are several. `is_lines`: one JSON value a line, of
    which there may be any number; else one value, over several lines."""

    shape: Any
    when: str = ""
    is_lines: bool = False


def _one(shape: Any) -> tuple[JsonOutput, ...]:
    return (JsonOutput(shape),)


def _watched(shape: Any) -> tuple[JsonOutput, ...]:
    return JsonOutput(shape, "Once"), JsonOutput(shape, "With --watch, for each look", is_lines=True)


OUTPUTS: Mapping[str, tuple[JsonOutput, ...]] = {
    "up": _one(services.AddressesJson),
    "ui": _one(services.AddressesJson),
    "produce": _one(records.ProducedJson),
    "consume": (
        JsonOutput(records.RecordJson, "For each record", is_lines=True),
        JsonOutput(dict[str, Any], "With --select, for each record", is_lines=True),
        JsonOutput(records.FiguresJson, "With --stats"),
    ),
    "copy": (
        JsonOutput(records.CopiedJson, "When it has ended"),
        JsonOutput(records.CopyPlanJson, "With --dry-run"),
    ),
    "cluster": _one(admin.ClusterJson),
    "health": _one(admin.HealthJson),
    "delete-records": _one(list[admin.DeletedRecordsJson]),
    "elect": _one(list[admin.ElectionJson]),
    "registry": _one(services.AddressesJson),
    "topics list": (
        JsonOutput(list[str], "The names"),
        JsonOutput(list[records.TopicJson], "With --long"),
    ),
    "topics offsets": (
        JsonOutput(list[records.OffsetRangeJson], "Both ends"),
        JsonOutput(list[records.OffsetJson], "With --at"),
    ),
    "topics diff": _one(list[records.TopicDifferenceJson]),
    "topics describe": _one(list[records.TopicDescriptionJson]),
    "acls list": _one(list[admin.AclJson]),
    "acls create": _one(list[admin.AclJson]),
    "acls delete": _one(list[admin.AclJson]),
    "brokers list": _one(list[admin.BrokerJson]),
    "brokers api-versions": _one(list[admin.ApiVersionsJson]),
    "configs list": _one(list[admin.ConfigResourceJson]),
    "configs describe": _one(list[admin.ConfigJson]),
    "configs set": _one(list[admin.ConfigChangeJson]),
    "configs delete": _one(list[admin.ConfigChangeJson]),
    "features list": _one(list[admin.FeatureJson]),
    "log-dirs list": _one(list[admin.LogDirJson]),
    "log-dirs replicas": _one(list[admin.LogDirReplicaJson]),
    "log-dirs verify": _one(list[admin.LogDirMoveJson]),
    "quorum describe": _one(admin.QuorumJson),
    "quotas list": _one(list[admin.QuotaJson]),
    "reassign generate": (JsonOutput(admin.PlanJson, "Also without --json"),),
    "reassign start": _one(list[admin.PlannedMoveJson]),
    "reassign verify": _one(list[admin.MoveStateJson]),
    "reassign list": _one(list[admin.MoveJson]),
    "share-groups list": _one(list[records.ShareGroupJson]),
    "share-groups describe": (
        JsonOutput(records.ShareGroupDescriptionJson, "Of one group that is named"),
        JsonOutput(list[records.ShareGroupDescriptionJson], "Of several, or with --pattern"),
    ),
    "share-groups reset-offsets": _one(list[records.MovedShareOffsetJson]),
    "tokens create": _one(admin.NewTokenJson),
    "tokens list": _one(list[admin.TokenJson]),
    "transactions list": _one(list[admin.TransactionJson]),
    "transactions describe": _one(list[admin.TransactionStateJson]),
    "transactions producers": _one(list[admin.ProducerStateJson]),
    "transactions find-hanging": _one(list[admin.ProducerStateJson]),
    "users list": _one(list[admin.ScramUserJson]),
    "bench produce": _one(records.BenchJson),
    "bench consume": _one(records.BenchJson),
    "bench latency": _one(records.BenchJson),
    "dlq replay": _one(records.ReplayedLettersJson),
    "faults": _one(services.AddressesJson),
    "faults list": _one(list[services.FaultJson]),
    "faults requests": _one(list[services.FaultRequestJson]),
    "faults nodes list": _one(list[services.FaultNodeJson]),
    **{
        f"faults nodes {change}": _one(services.FaultNodeJson)
        for change in ("stop", "kill", "start", "pause", "resume", "part", "join", "lag", "catch-up")
    },
    "groups list": _watched(list[records.GroupJson]),
    "groups describe": _watched(list[records.GroupDescriptionJson]),
    "groups members": _one(list[records.MemberJson]),
    "groups delete-offsets": _one(list[records.ForgottenOffsetJson]),
    "groups reset-offsets": _one(list[records.MovedOffsetJson]),
    "migrate scan": _one(list[services.MigrationFindingJson]),
    "pipeline plan": _one(services.ReadPlanJson),
    "pipeline status": _one(services.PipelineStatusJson),
    "pipeline carry-over": _one(services.CarriedCheckpointJson),
    "schemas list": (JsonOutput(dict[str, list[int]], "The versions of each subject"),),
    "schemas show": _one(services.SchemaJson),
    "schemas register": _one(services.RegisteredSchemaJson),
    "schemas check": _one(services.CompatibilityJson),
    "schemas config": _one(services.RegistrySettingsJson),
    "spark precompile": _one(list[services.CompiledArchiveJson]),
    "profile list": _one(list[admin.ProfileJson]),
    "profile show": (JsonOutput(dict[str, str], "The settings; a secret's value is hidden"),),
}
