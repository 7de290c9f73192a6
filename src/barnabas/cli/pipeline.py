"""`barnabas pipeline`: streaming queries of Spark on Kafka."""

from __future__ import annotations

import typer

from barnabas.cli import carry_over, pipeline_init, pipeline_plan, pipeline_status

app = typer.Typer(help="Streaming queries of Spark on Kafka.", no_args_is_help=True)
app.command("init")(pipeline_init.init)
app.command("plan")(pipeline_plan.plan)
app.command("status")(pipeline_status.status)
app.command("carry-over")(carry_over.carry_over)
