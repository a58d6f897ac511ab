"""What each extra is for, as programs; `python tests/extras.py plot` runs one, where no other extra need be there."""

from __future__ import annotations

import sys

RUNS = """
env = oc.environments.CoinFlip()
runs = oc.simulate(env, oc.LinearModel(env.features), oc.UCB(), steps=3, trials=2)
"""

CALIBRATION = """
forecasts = [oc.Gaussian([float(i)], 1.0) for i in range(5)]
found = oc.calibration.check(forecasts, [[float(i)] for i in range(5)])
"""

COMMAND = """
from overcast.cli import main

def command(*args):
    assert main(list(args)) == 0, args
"""

#: extras, joined by commas, and a program that needs nothing else
PROGRAMS = {
    "": f"""
bandit = oc.Bandit({{"early": [1.0, 0.0], "late": [0.0, 1.0]}}, oc.LinearModel(oc.features.Bilinear()), oc.UCB())
bandit.learn(bandit.decide(oc.Gaussian([1.0, 18.0], 1.0)), 5.2)
bandit.save("bandit.npz")
oc.Bandit.load("bandit.npz")
assert str(bandit.decide(oc.Gaussian([1.0, 18.0], 1.0)).explain())
oc.KernelModel(oc.kernels.RBF(1.0), ridge=1.0)
{RUNS}
{CALIBRATION}
assert found.verdict and runs.summary()
{COMMAND}
command()
command("doctor")
""",
    "plot": f"""
{RUNS}
runs.plot().figure.savefig("runs.png")
{CALIBRATION}
found.plot("calibration.png")
bandit = oc.Bandit(["a", "b"], oc.LinearModel(oc.features.Disjoint(2)), oc.UCB(), history=10)
decision = bandit.decide(oc.Gaussian([1.0], 1.0))
assert "was chosen" in str(decision.explain()) and decision._repr_html_()
decision.plot().figure.savefig("decision.png")
decision.belief.plot().figure.savefig("belief.png")
bandit.plot().savefig("bandit.png")
""",
    "scores": f"""
{CALIBRATION}
assert 0 < found.crps[0] < 1 and 0 < found.energy < 1
assert "CRPS" in str(oc.calibration.verify(forecasts, [[float(i)] for i in range(5)]))
""",
    "plot,scores": f"""
{COMMAND}
open("forecasts.csv", "w").write("temp,tempfc.1,tempfc.2\\n" + "3,1,2\\n4,2,3\\n" * 6)
command("calibrate", "forecasts.csv")
""",
    "experiments": f"""
{COMMAND}
command("reproduce", "synthetic", "--trials", "2", "--steps", "3", "--workers", "2")
command("reproduce", "forecasts", "--trials", "2", "--steps", "20", "--workers", "1")
""",
    "completion": f"""
{COMMAND}
command("completion", "bash")
""",
    "gym": """
world = oc.environments.as_gym(oc.environments.CoinFlip())
world.reset(seed=0)
world.step(1)
assert oc.environments.from_gym(world) == oc.environments.CoinFlip()
""",
    "movielens": """
from pathlib import Path
from overcast.datasets import download, embedding, movielens
data = movielens.generated_movielens(users=30, movies=40)
assert len(embedding.embed(data, Path("cache"), None, lambda: None).movies) == 40
assert download.default_folder()
""",
    "service": """
import asyncio
from overcast.service import Settings, create_app
app = create_app(Settings(db="log.db"))
async def live():
    async with app.router.lifespan_context(app):
        assert await app.state.service.engine.ask(lambda turn: turn.state.position) == 0
asyncio.run(live())
""",
    "client": """
with oc.Client("http://127.0.0.1:1", "oc_key", retries=0) as client:
    try:
        client.bandit("farm").decide(oc.Gaussian([1.0], 1.0))
    except oc.ServiceError as error:
        assert error.code == "no_answer"
""",
    "parquet": """
from overcast.service.store import Row
from overcast.service.transfer import from_parquet, to_parquet
row = Row(1, 2.0, "", "end", None, "0", "{}", None)
assert from_parquet(b"".join(to_parquet([row]))) == [row]
""",
    "postgres": """
from overcast.service.store import open_store
try:
    open_store("postgresql://nobody@127.0.0.1:1/nothing")
except OSError as error:
    assert "must be a database that answers" in str(error)
""",
    "dask": """
from distributed import LocalCluster
from overcast.experiments.engine.executors import dask_executor
with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster:
    with dask_executor(cluster.scheduler_address) as workers:
        assert workers.number() >= 1 and workers.submit(len, "four").result() == 4
""",
}


def program(extras: str) -> str:
    """Return the program; a pool of processes starts its main module anew, hence the guard."""
    indented = PROGRAMS[extras].strip().replace("\n", "\n    ")
    return f'import overcast as oc\n\nif __name__ == "__main__":\n    {indented}\n'


if __name__ == "__main__":
    exec(compile(program(sys.argv[1]), "extras", "exec"))
