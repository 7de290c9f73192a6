"""`barnabas pipeline`: streaming queries of Spark on Kafka."""

from __future__ import annotations

import typer

from barnabas.cli.pipelines import carry_over, plan, project, replay, status

app = typer.Typer(help="Streaming queries of Spark on Kafka.", no_args_is_help=True)
app.command("init")(project.init)
app.command("plan")(plan.plan)
app.command("replay")(replay.replay)
app.command("status")(status.status)
app.command("carry-over")(carry_over.carry_over)
