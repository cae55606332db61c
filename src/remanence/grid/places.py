"""Where the jobs of a grid are run, as words say it: local, ray or ray:ADDRESS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from remanence.core.errors import SettingsError
from remanence.grid.jobs import Job, Workers
from remanence.grid.local import Local, slots
from remanence.grid.on_ray import OnRay


@dataclass(frozen=True)
class Wish:
    """on: local, ray or ray:ADDRESS. threads, per_gpu, at_once: see `slots`."""

    on: str = "local"
    threads: int | None = None
    per_gpu: int = 1
    at_once: int | None = None

    def workers(self, jobs: Sequence[Job]) -> Workers:
        """Those who will run the jobs."""
        on_cpu = all(job.experiment.machine.device == "cpu" for job in jobs)
        place, _, address = self.on.partition(":")
        if place == "ray":
            return OnRay(address or None, self.threads, self.per_gpu, on_cpu)
        if self.on != "local":
            raise SettingsError(f"--on: '{self.on}' is none of local, ray and ray:ADDRESS")
        return Local(slots(self.threads, self.per_gpu, self.at_once, on_cpu))
