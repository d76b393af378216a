"""torch.utils.model_zoo: the old home of `torch.hub.load_state_dict_from_url`.

>>> torch.utils.model_zoo.load_url is torch.hub.load_state_dict_from_url
True
"""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name):
    if name == "tqdm":
        from ..hub import tqdm

        return tqdm
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
