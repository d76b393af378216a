"""Functions of torchvision.transforms.functional that change values: blur, sharpness and tables of tones."""

import numbers

import cresset as torch

from . import functional as F


def _weights_around(img, kernel):
    """The weighted sums of the pixels that a kernel (K, L) covers wholly, in floats."""
    batch = img.reshape(-1, 1, *img.shape[-2:])
    batch = batch if batch.is_floating_point() else batch.float()
    return torch.nn.functional.conv2d(batch, kernel.to(batch.dtype)[None, None])


def _pair_of(what, value):
    value = [value] * 2 if isinstance(value, numbers.Number) else list(value)
    value = value * 2 if len(value) == 1 else value
    if len(value) != 2:
        raise ValueError(f"gaussian_blur: {what} is one number or two, got {len(value)}")
    return value


def _bell(size, sigma, dtype, device):
    x = torch.linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size, dtype=dtype, device=device)
    weights = torch.exp(-0.5 * (x / sigma).pow(2))
    return weights / weights.sum()


def gaussian_blur(img, kernel_size, sigma=None):
    """Blurred by a Gaussian; the image is reflected at its edges.

    Args:
        kernel_size: odd, of both directions or (width, height).
        sigma: the deviation, of both directions or (x, y); None: what fits the size, 0.15 size + 0.35.

    >>> image = torch.zeros(1, 3, 3)
    >>> image[0, 1, 1] = 1
    >>> torch.vision.transforms.functional.gaussian_blur(image, 3, 1.0)[0, 1]
    tensor([0.2477, 0.2042, 0.2477])
    """
    sizes = _pair_of("kernel_size", kernel_size)
    if any(size <= 0 or size % 2 == 0 for size in sizes):
        raise ValueError(f"gaussian_blur: kernel_size is odd and positive, got {kernel_size!r}")
    sigmas = [size * 0.15 + 0.35 for size in sizes] if sigma is None else [float(s) for s in _pair_of("sigma", sigma)]
    if any(s <= 0 for s in sigmas):
        raise ValueError(f"gaussian_blur: sigma is positive, got {sigma!r}")
    if not F._checked("gaussian_blur", img):
        return F.to_pil_image(gaussian_blur(F.pil_to_tensor(img), sizes, sigmas), img.mode)
    dtype = img.dtype if img.is_floating_point() else torch.float32
    across, down = (_bell(size, s, dtype, img.device) for size, s in zip(sizes, sigmas))
    (width, height) = sizes
    padded = F.pad(img, [width // 2, height // 2, width // 2, height // 2], padding_mode="reflect")
    out = _weights_around(padded, down[:, None] * across[None])
    return (out if img.is_floating_point() else out.round()).to(img.dtype).reshape(img.shape)


def adjust_sharpness(img, sharpness_factor):
    """Sharper: 0 makes a blurred image, 1 nothing. Pixels at the edge stay.

    >>> torch.vision.transforms.functional.adjust_sharpness(torch.eye(3)[None], 0.0)[0, 1]
    tensor([0.0000, 0.5385, 0.0000])
    """
    F._not_negative("adjust_sharpness", sharpness_factor)

    def change(x):
        if min(x.shape[-2:]) <= 2:
            return x
        kernel = torch.ones(3, 3, device=x.device)
        kernel[1, 1] = 5.0
        inner = _weights_around(x, kernel / kernel.sum())
        soft = x.clone()
        soft[..., 1:-1, 1:-1] = (inner if x.is_floating_point() else inner.round()).to(x.dtype).reshape(*x.shape[:-2], *inner.shape[-2:])
        return F._blend(x, soft, sharpness_factor)

    return F._of_colors("adjust_sharpness", change, F._enhanced("Sharpness", sharpness_factor))(img)


def _by_ops(name, *arguments):
    def by_pil(image):
        from PIL import ImageOps

        return getattr(ImageOps, name)(image, *arguments)

    return by_pil


def _of_bytes(what, img):
    if isinstance(img, torch.Tensor) and img.dtype != torch.uint8:
        raise TypeError(f"{what}: expected a tensor of uint8, got {img.dtype}")


def posterize(img, bits):
    """Values with the highest bits only.

    >>> torch.vision.transforms.functional.posterize(torch.tensor([[[255, 100]]], dtype=torch.uint8), 2)
    tensor([[[192,  64]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"posterize: bits are 0 to 8, got {bits}")
    _of_bytes("posterize", img)
    return F._of_colors("posterize", lambda x: x & (256 - (1 << (8 - bits))), _by_ops("posterize", bits))(img)


def solarize(img, threshold):
    """The negative of values from the threshold on.

    >>> torch.vision.transforms.functional.solarize(torch.tensor([[[250, 100]]], dtype=torch.uint8), 200)
    tensor([[[  5, 100]]], dtype=torch.uint8)
    """
    if isinstance(img, torch.Tensor) and threshold > F._brightest(img.dtype):
        raise TypeError(f"solarize: the threshold is at most {F._brightest(img.dtype)} for {img.dtype}, got {threshold}")
    return F._of_colors("solarize", lambda x: torch.where(x >= threshold, F._brightest(x.dtype) - x, x), _by_ops("solarize", threshold))(img)


def autocontrast(img):
    """Each channel stretched so that its darkest value is black and its brightest is white.

    >>> torch.vision.transforms.functional.autocontrast(torch.tensor([[[0.25, 0.5]]]))
    tensor([[[0., 1.]]])
    """

    def change(x):
        values = x if x.is_floating_point() else x.float()
        bound = F._brightest(x.dtype)
        least, most = values.amin((-2, -1), keepdim=True), values.amax((-2, -1), keepdim=True)
        flat = most == least
        scale = torch.where(flat, 1.0, bound / torch.where(flat, 1.0, most - least))
        return ((values - torch.where(flat, 0.0, least)) * scale).clamp(0, bound).to(x.dtype)

    return F._of_colors("autocontrast", change, _by_ops("autocontrast"))(img)


def _equalized(channel):
    """Values (H, W) of bytes so that each is as frequent as another."""
    counts = torch.bincount(channel.flatten().long(), minlength=256)
    present = counts[counts != 0]
    step = int(present[:-1].sum()) // 255
    if step == 0:
        return channel
    table = torch.div(counts.cumsum(0) + step // 2, step, rounding_mode="floor")
    table = torch.cat([torch.zeros_like(table[:1]), table[:-1]]).clamp(0, 255).to(torch.uint8)
    return table[channel.long()]


def equalize(img):
    """Each channel changed so that all values are about equally frequent.

    >>> torch.vision.transforms.functional.equalize(torch.tensor([[[7, 7], [8, 9]]], dtype=torch.uint8)).shape
    torch.Size([1, 2, 2])
    """
    _of_bytes("equalize", img)
    change = lambda x: torch.stack([_equalized(c) for c in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)  # noqa: E731
    return F._of_colors("equalize", change, _by_ops("equalize"))(img)
