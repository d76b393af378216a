"""Packages that are installed and bound to ours under the alias: theirs are used where ours lack a name."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

FILES = {
    "torchvision/__init__.py": "from torchvision import models, transforms\nfrom torchvision import _meta_registrations\n__version__ = '9'\n",
    "torchvision/_meta_registrations.py": "raise RuntimeError('rules for the compiled part')\n",
    "torchvision/extra.py": "import torch\nimport torchvision.models\nfrom .models import resnet\nvalue = torch.ones(2).sum().item()\nhome = torchvision.models.resnet18()\n",
    "torchvision/models/__init__.py": "from .resnet import resnet18, newest\nfrom . import detection\n",
    "torchvision/models/resnet.py": "def resnet18():\n    return 'theirs'\n\ndef newest():\n    return resnet18()\n",
    "torchvision/models/detection.py": "from .resnet import resnet18\nfound = resnet18()\n",
    "torchvision/transforms/__init__.py": "",
    "torchvision/transforms/functional.py": "from enum import Enum\nclass InterpolationMode(Enum):\n    NEAREST = 'theirs'\nnames = {InterpolationMode.NEAREST: 1}\n"
    "def chosen(mode=InterpolationMode.NEAREST):\n    return names[mode], isinstance(mode, InterpolationMode)\n",
    "torchvision/transforms/v2/__init__.py": "from . import functional\nfrom ..functional import chosen\n",
    "torchvision/transforms/v2/functional.py": "name = __name__\n",
    "torchvision/broken.py": "import no_such_package\n",
}


class Installed(unittest.TestCase):
    def run_program(self, text, files=FILES):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(content)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, *filter(None, sys.path)])}
            return subprocess.run([sys.executable, "-m", "cresset", "-c", textwrap.dedent(text)], capture_output=True, text=True, env=environment)

    def test_names_that_ours_lacks_are_theirs(self):
        done = self.run_program("""\
            import torchvision, cresset
            import torchvision.models.resnet as resnet
            assert torchvision is cresset.vision and torchvision.models.resnet18 is cresset.vision.models.resnet18
            assert resnet is cresset.vision.models.resnet and torchvision.ops.nms is cresset.vision.ops.nms
            print(torchvision.models.newest(), resnet.newest(), hasattr(torchvision.models, "nothing"))
            """)
        self.assertEqual((done.stdout, done.stderr), ("theirs theirs False\n", ""))

    def test_modules_that_ours_lacks_are_theirs_and_import_one_another(self):
        done = self.run_program("""\
            import sys, torchvision
            from torchvision.transforms import v2
            import torchvision.transforms.v2.functional as functional
            from torchvision.extra import value, home
            from torchvision.models.detection import found
            print(v2.functional is functional, functional.name, value, home, found, torchvision.models.detection.found)
            assert sys.modules["torchvision"] is torchvision
            """)
        self.assertEqual((done.stdout, done.stderr), ("True torchvision.transforms.v2.functional 2.0 theirs theirs theirs\n", ""))

    def test_what_is_in_neither_is_missing(self):
        done = self.run_program("import torchvision.no_such_thing")
        self.assertIn("No module named 'torchvision.no_such_thing' in Cresset yet", done.stderr)
        done = self.run_program("from torchvision.models import no_such_model")
        self.assertIn("cannot import name 'no_such_model'", done.stderr)
        done = self.run_program("import torchvision.broken")
        self.assertIn("No module named 'no_such_package'", done.stderr)

    def test_enumerations_of_both_are_one(self):
        done = self.run_program("""\
            from torchvision.transforms import InterpolationMode
            from torchvision.transforms.v2 import chosen
            print(chosen(), chosen(InterpolationMode.NEAREST), InterpolationMode.NEAREST.value)
            """)
        self.assertEqual((done.stdout, done.stderr), ("(1, True) (1, True) nearest\n", ""))


if __name__ == "__main__":
    unittest.main()
