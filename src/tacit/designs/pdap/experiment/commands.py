"""`tacit simulate pdap`."""

from __future__ import annotations

import math
import resource
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tacit import design
from tacit.design import Command, option
from tacit.designs.pdap.experiment.policy_names import NAMES, WITH_EPSILON
from tacit.designs.pdap.experiment.world import World
from tacit.errors import ConfigError
from tacit.evaluation import REPORT, WORKERS, Result, describe_run
from tacit.evaluation.runner import Runner

PACKAGES = ("tacit-rec", "numpy", "scipy")
"""Packages whose versions the manifest states."""


@dataclass(frozen=True, kw_only=True)
class SimulateSettings(World):
    """Options of `tacit simulate pdap`."""

    epsilon: tuple[float, ...] = option(
        "Epsilon of a visit; several with commas; inf: no noise.", default=(1.0,)
    )
    policies: tuple[str, ...] = option(
        "With commas: cap, solo, dup, dap, p-dap, gp-dap, sound-context, sound-joint, uniform.",
        default=("cap", "dup", "dap", "p-dap", "gp-dap", "sound-joint", "uniform"),
    )
    seeds: int = option("How many generated data sets.", default=3, least=1)
    first_seed: int = option("The seed of the first of them.", default=0, least=0)
    workers: int = option(WORKERS, default=1, least=0)
    report: Path | None = option(REPORT, default=None, writes=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = sorted(set(self.policies) - set(NAMES))
        if unknown or not self.policies:
            names = ", ".join(unknown) or "none"
            raise ConfigError(f"--policies names one or more of {', '.join(NAMES)}; got {names}.")

    @property
    def tasks(self) -> list[tuple[str, float, int]]:
        """The policy, epsilon and seed of each run."""
        tasks: list[tuple[str, float, int]] = []
        for seed in range(self.first_seed, self.first_seed + self.seeds):
            for name in self.policies:
                epsilons = self.epsilon if name in WITH_EPSILON else (math.inf,)
                tasks += [(name, epsilon, seed) for epsilon in epsilons]
        return tasks


def _simulate(settings: SimulateSettings, run: design.Run) -> Result:
    """Simulate vendors that learn from clicks.

    Vendors forward visitors to one another by messages. What the published policies (cap to gp-dap)
    claim about privacy does not hold.
    """
    from tacit.designs.pdap.experiment import report
    from tacit.designs.pdap.experiment.bounds import check_bounds
    from tacit.designs.pdap.experiment.claims import check_claims
    from tacit.designs.pdap.experiment.orderings import check_orderings
    from tacit.designs.pdap.experiment.run import simulate
    from tacit.designs.pdap.experiment.summary import regret_over_time, summarise_runs

    tasks = settings.tasks
    with (
        run.progress("Simulating", len(tasks)) as advance,
        Runner(settings, workers=settings.workers) as runner,
    ):
        results = runner.run(simulate, tasks, advance)
    runs = list(chain.from_iterable(result.rows for result in results))
    level_regrets = {
        task: result.level_regrets for task, result in zip(tasks, results, strict=True)
    }
    findings = report.Findings(
        runs=runs,
        rows=summarise_runs(runs),
        regret=regret_over_time(runs),
        orderings=check_orderings(runs),
        claims=check_claims(runs),
        bounds=check_bounds(settings, runs, level_regrets),
    )
    manifest = _manifest(settings)
    if settings.report is not None:
        report.page_of(findings, settings, manifest).write(settings.report)
    data = {
        "rows": findings.rows,
        "regret": findings.regret,
        "claims": findings.claims,
        "orderings": findings.orderings,
        "bounds": findings.bounds,
        "runs": runs,
        "cost": _cost(),
        "manifest": manifest,
        "report": settings.report,
    }
    next_step = f"{run.command} --report pdap.html  draws curves, and the paper's orderings."
    if settings.report is not None:
        next_step = "tacit guarantee pdap --epsilon 1  shows what each policy claims."
    return Result(data, report.tables_of(findings), next_step)


def _cost() -> dict[str, float]:
    """Measure the processor seconds of this process and its workers, and the largest peak memory.

    Peak memory is that of one process. `ru_maxrss` is taken to be in kibibytes, as on Linux.
    """
    process = resource.getrusage(resource.RUSAGE_SELF)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    process_seconds = process.ru_utime + process.ru_stime
    worker_seconds = workers.ru_utime + workers.ru_stime
    return {
        "cpu_seconds": process_seconds + worker_seconds,
        "peak_mebibytes": max(process.ru_maxrss, workers.ru_maxrss) / 1024,
    }


def _manifest(settings: SimulateSettings) -> dict[str, Any]:
    """Describe the run by the versions of packages and all settings that results depend on."""
    facts = asdict(settings) | {
        "policies": ",".join(settings.policies),
        "epsilon": ",".join(f"{epsilon:g}" for epsilon in settings.epsilon),
        "test": ",".join(str(size) for size in settings.test),
        "gamma": "printed" if settings.gamma is None else settings.gamma,
        "split_after": settings.setting.first_split,
    }
    del facts["report"], facts["workers"]  # no result depends on them
    data = {"generated": "clicks of tacit.data.clicks"}
    return describe_run("tacit simulate pdap", facts, PACKAGES) | {"data": data}


SIMULATE = Command(SimulateSettings, _simulate)
