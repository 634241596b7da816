"""The Python module: its numbers are the program's, its objects are taken where scenarios are, its errors are located.

Run with $LOCKSTEP set to the program, from the root of the tree.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, os.environ.get("LOCKSTEP_MODULE", str(ROOT / "tools/python")))

import lockstep  # noqa: E402
from lockstep._program import problem_of  # noqa: E402

SMALL = str(ROOT / "tests/data/scenarios/small.yaml")
DICT = {
    "model": {"type": "two-matmul", "layers": 2, "d_model": 1024, "d_ff": 4096},
    "cluster": "tpu-v5p:4x4x4",
    "parallel": {"data": 64},
    "batch": {"sequences": 64, "sequence_length": 512},
}

try:
    import pandas
except ImportError:
    pandas = None


def by_program(*arguments):
    """The program's own JSON."""
    done = subprocess.run([os.environ["LOCKSTEP"], *arguments, "--json", "-"], capture_output=True, check=True)
    return json.loads(done.stdout)


class Numbers(unittest.TestCase):
    """What a function returns is what the program prints."""

    def test_run_is_the_programs(self):
        mine, its = lockstep.run(SMALL).to_dict(), by_program("run", SMALL)
        mine["engine"], its["engine"] = None, None  # holds wall times
        self.assertEqual(mine, its)

    def test_keys_are_attributes(self):
        step = lockstep.run(SMALL)
        self.assertEqual(step.memory.peak_bytes, step["memory"]["peak_bytes"])
        self.assertEqual(step.comm[0].axis, step["comm"][0]["axis"])
        with self.assertRaisesRegex(AttributeError, "there is no 'stepp'"):
            step.stepp

    def test_set_replaces_keys(self):
        its = by_program("run", SMALL, "--set", "batch.sequences=128", "--set", "mesh={tensor: [x], fsdp: rest}")
        mine = lockstep.run(SMALL, set={"batch.sequences": 128, "mesh": {"tensor": ["x"], "fsdp": "rest"}})
        self.assertEqual(mine.step_time_s, its["step_time_s"])

    def test_schedule_and_collective_are_the_programs(self):
        mine = lockstep.schedule("1f1b", "zb-h1", stages=4, microbatches=8, times=[1, 1, 1])
        its = by_program("schedule", "1f1b", "zb-h1", "--stages", "4", "--microbatches", "8", "--times", "1,1,1")
        self.assertEqual(mine.to_dict(), its)
        rows = lockstep.collective("all_reduce", cluster="h100:4", group="node", bytes="1MiB..4MiB").rows
        self.assertEqual([row.bytes for row in rows], [2**20, 2**21, 2**22])

    def test_goodput_and_check(self):
        run = str(ROOT / "scenarios/published/llama3-405b-54-days.yaml")
        self.assertEqual(lockstep.goodput(run, days=54).goodput, by_program("goodput", run, "--days", "54")["goodput"])
        checked = lockstep.check(SMALL)
        self.assertTrue(checked.fits)
        self.assertEqual(checked.step_time_s, lockstep.run(SMALL, engine="max_min").step_time_s)


class Passing(unittest.TestCase):
    """Dicts, paths and results are all scenarios."""

    def test_a_dict_is_the_file_with_its_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "same.yaml"
            file.write_text(json.dumps({"format": 1, **DICT}))
            self.assertEqual(lockstep.run(DICT).step_time_s, lockstep.run(file).step_time_s)

    def test_files_that_a_dict_names_are_seen_from_here(self):
        config = ROOT / "tests/data/hf_configs/meta-llama__Meta-Llama-3-8B.json"
        scenario = {**DICT, "batch": {"sequences": 64, "sequence_length": 512}, "parallel": {"fsdp": 64}}
        here = lockstep.run({**scenario, "model": os.path.relpath(config)})
        self.assertEqual(here.step_time_s, lockstep.run({**scenario, "model": config}).step_time_s)

    def test_a_plan_is_a_scenario(self):
        found = lockstep.plan(SMALL)
        self.assertAlmostEqual(lockstep.run(found.best).step_time_s, found.best.step_time_s, delta=1e-12)
        self.assertEqual(lockstep.run(found).step_time_s, lockstep.run(found.best).step_time_s)
        slower = [plan.step_time_s for plan in found.plans]
        self.assertTrue(all(a <= b * (1 + 1e-9) for a, b in zip(slower, slower[1:])))
        larger = lockstep.run(found.best, set={"batch": {"sequences": 128, "sequence_length": 512}})
        self.assertGreater(larger.step_time_s, found.best.step_time_s)

    def test_a_model_needs_no_file(self):
        found = lockstep.plan("llama-3-8b", cluster="h100:1", batch_tokens="512k", sequence_length=8192)
        self.assertAlmostEqual(lockstep.run(found).step_time_s, found.best.step_time_s, delta=1e-9)

    def test_compare_takes_all_of_them(self):
        step = lockstep.run(DICT, set={"batch.sequences": 128})
        both = lockstep.compare({"plain": DICT, "twice": step})
        self.assertEqual([one.name for one in both.scenarios], ["plain", "twice"])
        self.assertEqual(both.scenarios[1].result.step_time_s, step.step_time_s)

    def test_sweep_of_files_dicts_and_results(self):
        for scenario in (SMALL, DICT, lockstep.run(DICT)):
            points = lockstep.sweep(scenario, grid={"batch.sequences": [64, 128]}).points
            self.assertEqual([point["batch.sequences"] for point in points], [64, 128])
            for point in points:
                one = lockstep.run(scenario, set={"batch.sequences": point["batch.sequences"]}, engine="max_min")
                self.assertAlmostEqual(point.step_time_s, one.step_time_s, delta=1e-12)

    def test_a_sweep_goes_on_in_its_database(self):
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder) / "sweep.db"
            first = lockstep.sweep(DICT, grid={"batch.sequences": [64]}, database=database)
            again = lockstep.sweep(database=database)
            self.assertEqual(first.to_dict(), again.to_dict())


class Values(unittest.TestCase):
    """What users have in hand is taken: numbers of numpy, paths, whole floats; what cannot be is told by name."""

    def test_numbers_and_paths(self):
        class Numpy:  # as numpy's scalars
            def item(self):
                return 128

        expected = lockstep.run(DICT, set={"batch.sequences": 128}).step_time_s
        for value in (Numpy(), 128.0):
            self.assertEqual(lockstep.run(DICT, set={"batch.sequences": value}).step_time_s, expected)
        with self.assertRaisesRegex(TypeError, "cannot hold"):
            lockstep.run({**DICT, "batch": object()})

    def test_a_name_is_no_option(self):
        for name in ("--help", "-h", "--out=/tmp/x"):
            with self.assertRaises(lockstep.ScenarioError):
                lockstep.run(name)

    def test_results_can_be_pickled(self):
        import pickle

        step = lockstep.run(DICT)
        self.assertEqual(pickle.loads(pickle.dumps(step)).to_dict(), step.to_dict())

    def test_one_scenario_is_no_list(self):
        with self.assertRaises(TypeError):
            lockstep.compare(SMALL)

    def test_temporary_files_are_not_shown(self):
        self.assertEqual(lockstep.check(DICT).scenario, "scenario.yaml")
        refused = lockstep.sweep(DICT, grid={"parallel.data": [63]}).points[0]
        self.assertEqual(refused.status, "refused")
        self.assertNotIn(tempfile.gettempdir(), refused.error)


class Mistakes(unittest.TestCase):
    """All problems at once, each with its place."""

    def test_problems_are_located(self):
        with self.assertRaises(lockstep.ScenarioError) as caught:
            lockstep.run({**DICT, "parallel": {"data": 63}, "batch": {"sequences": "x"}})
        problems = caught.exception.problems
        self.assertEqual({problem.key for problem in problems}, {"batch.sequence_length", "batch.sequences"})
        for problem in problems:
            self.assertEqual(problem.file, "scenario.yaml")
            self.assertGreater(problem.line, 0)
            self.assertTrue(problem.expected)

    def test_a_message_has_its_parts(self):
        whole = problem_of("a.yaml:3:5: mesh.tensor: 'q' is no axis; expected x, y or z")
        self.assertEqual((whole.file, whole.line, whole.column, whole.key), ("a.yaml", 3, 5, "mesh.tensor"))
        self.assertEqual((whole.message, whole.expected), ("'q' is no axis", "x, y or z"))
        self.assertEqual(str(whole), "a.yaml:3:5: mesh.tensor: 'q' is no axis; expected x, y or z")
        self.assertEqual(problem_of("none.yaml: no such file").file, "none.yaml")
        self.assertEqual(problem_of("--group: too small; expected 2").key, "--group")
        replaced = problem_of("--set batch.foo: unknown key; expected one of sequences, microbatches")
        self.assertEqual((replaced.key, replaced.file, replaced.message), ("batch.foo", None, "unknown key"))
        self.assertEqual(problem_of("--set mesh: mesh: is null; expected a map").message, "is null")

    def test_there_must_be_a_program(self):
        kept = os.environ["LOCKSTEP"]
        try:
            os.environ["LOCKSTEP"] = "/no/such/program"
            with self.assertRaisesRegex(lockstep.LockstepError, "cannot be run"):
                lockstep.run(SMALL)
        finally:
            os.environ["LOCKSTEP"] = kept


class Schema(unittest.TestCase):
    """`lockstep schema` takes every scenario of the tree and refuses keys and words that there are not."""

    def setUp(self):
        try:
            import jsonschema
            import yaml
        except ImportError:
            self.skipTest("jsonschema or yaml is not installed")
        done = subprocess.run([os.environ["LOCKSTEP"], "schema"], capture_output=True, check=True)
        self.check = jsonschema.Draft202012Validator(json.loads(done.stdout)).iter_errors
        self.load = yaml.safe_load

    def problems(self, scenario):
        return [error.message for error in self.check(scenario)]

    def test_it_takes_what_the_program_takes(self):
        for file in sorted((ROOT / "scenarios").rglob("*.yaml")):
            with self.subTest(file=str(file)):
                scenario = self.load(file.read_text())
                scenario.pop("sweep", None)
                self.assertEqual(self.problems(scenario), [])

    def test_it_refuses_unknown_keys_and_words(self):
        scenario = {"format": 1, **DICT}
        self.assertEqual(self.problems(scenario), [])
        self.assertTrue(self.problems({**scenario, "bacth": {}}))
        self.assertTrue(self.problems({**scenario, "parallel": {"dta": 64}}))
        self.assertTrue(self.problems({**scenario, "training": {"optimizer": "adma"}}))
        self.assertTrue(self.problems({**scenario, "batch": {"sequences": "many"}}))


class Shown(unittest.TestCase):
    """Notebooks and files."""

    def test_a_notebook_shows_the_timeline(self):
        html = lockstep.run(SMALL)._repr_html_()
        self.assertIn("<svg", html)
        self.assertIn("MFU", html)
        self.assertIn("<table>", lockstep.plan(SMALL)._repr_html_())

    def test_names_are_escaped(self):
        both = lockstep.compare({"<b>": DICT, "a/b": DICT})
        self.assertIn("&lt;b&gt;", both._repr_html_())

    def test_save_writes_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            written = lockstep.run(SMALL).save(Path(folder) / "out")
            self.assertTrue((written / "result.json").exists())

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_frames_have_a_row_for_each(self):
        self.assertEqual(len(lockstep.plan(SMALL, top=3).to_frame()), 3)
        table = lockstep.sweep(DICT, grid={"batch.sequences": [64, 128]}).to_frame()
        self.assertEqual(list(table["batch.sequences"]), [64, 128])
        self.assertIn("memory.peak_bytes", lockstep.compare([DICT, SMALL]).to_frame().columns)

    def test_the_notebook_runs(self):
        try:
            import nbclient
            import nbformat
        except ImportError:
            self.skipTest("nbclient is not installed")
        notebook = nbformat.read(ROOT / "docs/howto/python.ipynb", as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            nbclient.NotebookClient(
                notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
            ).execute()
        shown = json.dumps(notebook)
        self.assertIn("<svg", shown)
        self.assertIn("MFU", shown)


if __name__ == "__main__":
    unittest.main()
