"""Jobs on clusters: the backend for Ray Train on a cluster of this machine, and the manifest for Kubernetes."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

from cresset.distributed.run import get_rdzv_endpoint, parse_args, parse_min_max_nnodes

import cresset

_EXAMPLES = os.path.join(os.path.dirname(__file__), "../../../examples/distributed")


class Ray(unittest.TestCase):
    def test_workers_train_together(self):
        """Where CRESSET_RAY_PYTHON names an interpreter with Ray, or this one has it."""
        python = os.environ.get("CRESSET_RAY_PYTHON", sys.executable)
        if python == sys.executable and importlib.util.find_spec("ray") is None:
            self.skipTest("ray is not installed; CRESSET_RAY_PYTHON may name an interpreter that has it")
        packages = os.path.dirname(os.path.dirname(cresset.__file__))
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "loss.txt")
            environment = {**os.environ, "PYTHONPATH": packages, "RAY_TRAIN_ENABLE_STATE_TRACKING": "0", "RAY_USAGE_STATS_ENABLED": "0"}
            done = subprocess.run(
                [python, os.path.join(_EXAMPLES, "ray_train.py"), "--workers", "2", "--steps", "30", "--report", report],
                capture_output=True, text=True, env=environment, cwd=folder, timeout=900,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            self.assertRegex(done.stdout, r"loss \d+\.\d+ on 2 workers")


class Kubernetes(unittest.TestCase):
    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("the module yaml is not installed (python3-yaml)")
        with open(os.path.join(_EXAMPLES, "job.yaml")) as file:
            self.service, self.job = yaml.safe_load_all(file)

    def test_every_pod_has_a_name_that_the_service_resolves(self):
        name, pod = self.job["metadata"]["name"], self.job["spec"]["template"]["spec"]
        self.assertEqual((self.service["kind"], self.service["apiVersion"], self.job["kind"], self.job["apiVersion"]), ("Service", "v1", "Job", "batch/v1"))
        self.assertEqual(str(self.service["spec"]["clusterIP"]), "None")
        self.assertEqual(self.service["spec"]["selector"], {"job-name": name})
        self.assertEqual(pod["subdomain"], self.service["metadata"]["name"])
        self.assertIn(pod["restartPolicy"], ("Never", "OnFailure"))

    def test_the_launchers_options_fit_the_job(self):
        spec = self.job["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        self.assertEqual(container["command"], ["python", "-m", "cresset.distributed.run"])
        given = parse_args(container["args"])
        _, most = parse_min_max_nnodes(given.nnodes)
        self.assertEqual((spec["completionMode"], spec["completions"], spec["parallelism"]), ("Indexed", most, most))
        self.assertEqual(get_rdzv_endpoint(given).partition(":")[0], f"{self.job['metadata']['name']}-0.{self.service['metadata']['name']}")
        self.assertEqual([variable["name"] for variable in container["env"]], ["CRESSET_DIST_SECRET"])
        self.assertTrue(os.path.isabs(given.training_script))


if __name__ == "__main__":
    unittest.main()
