"""torch.hub: models that others publish, by the functions of their hubconf.py, and files from the network.

>>> import os
>>> os.path.basename(torch.hub.get_dir())
'hub'
"""

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import urllib.request
import uuid
import zipfile
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_CONFIG, _TRUSTED = "hubconf.py", "trusted_list"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_dir = None


def get_dir():
    """The folder that what is downloaded goes to: what `set_dir` set, $TORCH_HOME/hub, or ~/.cache/torch/hub.

    >>> torch.hub.get_dir().endswith("hub")
    True
    """
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def _get_torch_home():
    return os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")))


def set_dir(d):
    """Sets the folder that what is downloaded goes to.

    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/elsewhere/hub")
    >>> torch.hub.get_dir()
    '/elsewhere/hub'
    >>> torch.hub.set_dir(before)
    """
    global _dir
    _dir = os.path.expanduser(os.fspath(d))


# ---- files ----------------------------------------------------------------------------------------------------------------


def download_url_to_file(url, dst, hash_prefix=None, progress=True):
    """Copies what a URL names to a file, which appears when it is complete.

    Args:
        url: http, https, ftp or file.
        dst: the file.
        hash_prefix: how its SHA-256 begins, in hexadecimal digits.
        progress: whether to tell on standard error how far it is.

    Errors: urllib's URLError; RuntimeError for another hash, and nothing is written then.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "a"), "w") as file:
    ...     _ = file.write("text")
    >>> torch.hub.download_url_to_file(f"file://{folder}/a", os.path.join(folder, "b"), progress=False)
    >>> open(os.path.join(folder, "b")).read()
    'text'
    """
    dst = os.path.expanduser(dst)
    request = urllib.request.Request(url, headers={"User-Agent": "torch.hub"})
    part = f"{dst}.{uuid.uuid4().hex}.partial"
    try:
        with urllib.request.urlopen(request) as source, open(part, "wb") as target:
            total = int(source.headers.get("Content-Length") or 0)
            digest, done, said = hashlib.sha256(), 0, -1
            while block := source.read(1 << 17):
                target.write(block)
                digest.update(block)
                done += len(block)
                share = done * 100 // total if total else 0
                if progress and share != said:
                    said = share
                    print(f"\r{os.path.basename(dst)}: {done >> 10} KiB{f' ({share}%)' if total else ''}", end="", file=sys.stderr)
        if progress:
            print(file=sys.stderr)
        found = digest.hexdigest()
        if hash_prefix is not None and not found.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
        shutil.move(part, dst)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(part)


def load_state_dict_from_url(url, model_dir=None, map_location=None, progress=True, check_hash=False, file_name=None, weights_only=False):
    """`torch.load` of what a URL names, which is downloaded once.

    Args:
        url: of a checkpoint; a zip file with one file in it will do.
        model_dir: where it is kept: by default the folder "checkpoints" of `get_dir`.
        map_location, weights_only: see `torch.load`.
        check_hash: whether the name ends with the beginning of its SHA-256, as in name-0123456789abcdef.pt, which is checked.
        file_name: its name there; by default that of the URL.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> torch.save({"w": torch.ones(2)}, os.path.join(folder, "a.pt"))
    >>> torch.hub.load_state_dict_from_url(f"file://{folder}/a.pt", model_dir=os.path.join(folder, "kept"), progress=False)
    {'w': tensor([1., 1.])}
    """
    import cresset as torch

    model_dir = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(model_dir, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(model_dir, name)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}\n', file=sys.stderr) if progress else None
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress=progress)
    if _is_plain_zip(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) != 1:
                raise RuntimeError(f"load_state_dict_from_url: only one file is allowed in the zip file, got {len(members)}")
            archive.extract(members[0], model_dir)
            path = os.path.join(model_dir, members[0].filename)
    return torch.load(path, map_location=map_location, weights_only=weights_only)


def _is_plain_zip(path):
    """Whether a file is a zip archive, and no checkpoint in itself."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return not any(name.endswith(("/data.pkl", "/version", "constants.pkl")) for name in archive.namelist())


# ---- repositories ---------------------------------------------------------------------------------------------------------


def _named(github):
    """(owner, repository, branch or tag) of "owner/repository[:ref]"."""
    match = re.fullmatch(r"([\w.-]+)/([\w.-]+)(?::(.+))?", github)
    if match is None:
        raise ValueError(f"hub: expected 'owner/repository' or 'owner/repository:ref', got {github!r}")
    return match[1], match[2], match[3]


def _trusts(owner, name, trust_repo, function):
    """Asks, where it must, whether code of a repository may run."""
    folder = get_dir()
    os.makedirs(folder, exist_ok=True)
    path, key = os.path.join(folder, _TRUSTED), f"{owner}_{name}"
    known = open(path).read().split() if os.path.exists(path) else []
    if trust_repo is True:
        if key not in known:
            with open(path, "a") as file:
                file.write(key + "\n")
        return
    if trust_repo not in (None, False, "check"):
        raise ValueError(f"hub: trust_repo is True, False, 'check' or None, got {trust_repo!r}")
    if trust_repo is not False and (key in known or owner in ("facebookresearch", "facebookincubator", "pytorch", "fairinternal")):
        return
    answer = input(
        f"The repository {owner}_{name} does not belong to the list of trusted repositories. Do you trust it and wish torch.hub.{function} to run its code (y/N)? "
    )
    if answer.strip().lower() not in ("y", "yes"):
        raise RuntimeError("hub: untrusted repository")
    if trust_repo == "check" or trust_repo is None:
        with open(path, "a") as file:
            file.write(key + "\n")


def _fetched(github, force_reload, trust_repo, function, verbose):
    """The folder of a repository, downloaded where it is not there."""
    owner, name, ref = _named(github)
    ref = ref or _default_branch(owner, name)
    folder = os.path.join(get_dir(), f"{owner}_{name}_{ref.replace('/', '_')}")
    _trusts(owner, name, trust_repo, function)
    if os.path.exists(folder) and not force_reload:
        if verbose:
            print(f"Using cache found in {folder}", file=sys.stderr)
        return folder
    with tempfile.TemporaryDirectory(dir=get_dir()) as held:
        packed = os.path.join(held, "repository.zip")
        download_url_to_file(f"https://github.com/{owner}/{name}/zipball/{ref}", packed, progress=False)
        try:
            with zipfile.ZipFile(packed) as archive:
                top = archive.namelist()[0].split("/")[0]
                archive.extractall(held)
        except (zipfile.BadZipFile, IndexError, EOFError) as error:
            raise RuntimeError(f"torch.hub: the archive of {owner}/{name}:{ref} is damaged or not whole ({error}); try again") from error
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(os.path.join(held, top), folder)
    return folder


def _default_branch(owner, name):
    with contextlib.suppress(OSError), urllib.request.urlopen(f"https://github.com/{owner}/{name}/tree/main/"):
        return "main"
    return "master"


def _config(folder):
    """The module of a folder's hubconf.py, which finds what lies beside it."""
    path = os.path.join(folder, _CONFIG)
    if not os.path.exists(path):
        raise FileNotFoundError(f"hub: there is no {_CONFIG} in {folder}")
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location(_CONFIG, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        needed = [name for name in getattr(module, "dependencies", None) or [] if importlib.util.find_spec(name) is None]
        if needed:
            raise RuntimeError(f"Missing dependencies: {', '.join(needed)}")
        return module
    finally:
        sys.path.remove(folder)


def _entry(module, model):
    function = getattr(module, model, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return function


def _folder(repo_or_dir, source, *rest):
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}", expected "github" or "local".')
    return os.path.realpath(os.fspath(repo_or_dir)) if source == "local" else _fetched(repo_or_dir, *rest)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True):  # noqa: A001
    """The names that a repository "owner/repository[:ref]" offers, or the hubconf.py of a folder on this machine.

    Args:
        github: the repository, or a path of a folder.
        force_reload: whether to download it again.
        skip_validation: kept for programs that set it.
        trust_repo: whether its code may run: True, False (ask), or "check" (ask once, by default).

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "hubconf.py"), "w") as file:
    ...     _ = file.write("def net(n=1):\\n    'a net'\\n    return n\\n")
    >>> torch.hub.list(folder)
    ['net']
    """
    local = os.path.isdir(github)
    module = _config(_folder(github, "local" if local else "github", force_reload, trust_repo, "list", verbose))
    return [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None):  # noqa: A001
    """The docstring of one of the names that a repository offers; see `list`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "hubconf.py"), "w") as file:
    ...     _ = file.write("def net(n=1):\\n    'a net'\\n    return n\\n")
    >>> torch.hub.help(folder, "net")
    'a net'
    """
    local = os.path.isdir(github)
    return _entry(_config(_folder(github, "local" if local else "github", force_reload, trust_repo, "help", True)), model).__doc__


def load(repo_or_dir, model, *args, source="github", trust_repo=None, force_reload=False, verbose=True, skip_validation=False, **kwargs):
    """Result of one of the functions in a hubconf.py, called with the arguments that follow.

    Args:
        repo_or_dir: "owner/repository[:ref]" on GitHub, or a folder.
        model: the name of the function.
        source: "github" or "local".
        trust_repo, force_reload, skip_validation: see `list`.
        verbose: whether to tell where the code was found.

    Errors: ValueError for another source, RuntimeError for names and packages that are missing, FileNotFoundError without a hubconf.py.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "hubconf.py"), "w") as file:
    ...     _ = file.write("def net(n=1):\\n    return n\\n")
    >>> torch.hub.load(folder, "net", 7, source="local")
    7
    """
    return _entry(_config(_folder(repo_or_dir, source, force_reload, trust_repo, "load", verbose)), model)(*args, **kwargs)


def __getattr__(name):
    if name == "tqdm":  # programs take it from here; the package is theirs to install
        from tqdm import tqdm

        return tqdm
    from cresset._core import missing

    return missing.found(__name__, name)
