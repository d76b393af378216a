"""Datasets of folders: one folder a class."""

import os

from cresset import vision

from .vision import VisionDataset

__all__ = ["DatasetFolder", "ImageFolder"]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename, extensions):
    """Whether a name ends in one of some endings, in small or capital letters.

    >>> torch.vision.datasets.folder.has_file_allowed_extension("A.PNG", (".png", ".jpg"))
    True
    """
    return str(filename).lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename):
    """Whether a name ends as images do.

    >>> torch.vision.datasets.folder.is_image_file("a.txt")
    False
    """
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory):
    """The folders in a folder, sorted, and the number of each. FileNotFoundError where there is none.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> for name in ("dog", "cat"):
    ...     os.mkdir(os.path.join(root, name))
    >>> torch.vision.datasets.folder.find_classes(root)
    (['cat', 'dog'], {'cat': 0, 'dog': 1})
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"find_classes: there is no folder of a class in {directory}")
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(directory, class_to_idx=None, extensions=None, is_valid_file=None, allow_empty=False):
    """(path, number of the class) of the files in the folders of classes and below, sorted.

    Args:
        class_to_idx: the number of each class; None: as `find_classes` counts.
        extensions, is_valid_file: which files count, by ending or by a function of the path; one of both is given.
        allow_empty: whether a class may have no file; FileNotFoundError for one if not.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(root, "cat"))
    >>> open(os.path.join(root, "cat", "a.png"), "w").close()
    >>> [(os.path.basename(path), number) for path, number in torch.vision.datasets.folder.make_dataset(root, extensions=".png")]
    [('a.png', 0)]
    """
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("make_dataset: either extensions or is_valid_file is given, not both or none")
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("make_dataset: class_to_idx is empty, expected at least one class")
    counts = is_valid_file or (lambda path: has_file_allowed_extension(path, extensions))
    found, empty = [], []
    for name in sorted(class_to_idx):
        before = len(found)
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            found += [(path, class_to_idx[name]) for path in (os.path.join(folder, file) for file in sorted(files)) if counts(path)]
        if len(found) == before:
            empty.append(name)
    if empty and not allow_empty:
        wanted = f", which end in {extensions if isinstance(extensions, str) else ', '.join(extensions)}" if extensions is not None else ""
        raise FileNotFoundError(f"make_dataset: no file for the classes {', '.join(empty)} in {directory}{wanted}")
    return found


def pil_loader(path):
    """The image of a file, in colours, of PIL. ImportError where PIL is not there.

    >>> try:
    ...     torch.vision.datasets.folder.pil_loader("/nowhere.png")
    ... except (ImportError, FileNotFoundError):
    ...     print("no image")
    no image
    """
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("pil_loader: images are read by PIL, which is not installed: pip install pillow") from None
    with open(path, "rb") as file:
        return Image.open(file).convert("RGB")


def tensor_loader(path):
    """The image of a PNG or JPEG, in colours: a tensor (3, H, W) of bytes. RuntimeError, which names the file, for others.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> torch.vision.io.write_png(torch.ones(1, 2, 3, dtype=torch.uint8), path)
    >>> torch.vision.datasets.folder.tensor_loader(path).shape
    torch.Size([3, 2, 3])
    """
    return vision.io.read_image(path, vision.io.ImageReadMode.RGB)


def default_loader(path):
    """The image of a file, in colours: of PIL, or a tensor, as `get_image_backend` says.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.png")
    >>> torch.vision.io.write_png(torch.ones(1, 2, 3, dtype=torch.uint8), path)
    >>> torch.vision.transforms.functional.get_image_size(torch.vision.datasets.folder.default_loader(path))
    [3, 2]
    """
    return (pil_loader if vision.get_image_backend() == "PIL" else tensor_loader)(path)


class DatasetFolder(VisionDataset):
    """Files in folders of classes: root/cat/1.ext, root/dog/below/2.ext.

    Args:
        root: the folder of the classes' folders.
        loader: makes a sample of a path.
        extensions, is_valid_file: which files count, by ending or by a function of the path; one of both is given.
        transform, target_transform: of samples and classes.
        allow_empty: whether a class may have no file.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(root, "cat"))
    >>> open(os.path.join(root, "cat", "a.txt"), "w").close()
    >>> data = torch.vision.datasets.DatasetFolder(root, lambda path: open(path).read(), (".txt",))
    >>> data[0], data.classes
    (('', 0), ['cat'])
    """

    def __init__(self, root, loader, extensions=None, transform=None, target_transform=None, is_valid_file=None, allow_empty=False):
        super().__init__(os.fspath(root), transform=transform, target_transform=target_transform)
        self.loader, self.extensions = loader, extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [target for _, target in self.samples]

    @staticmethod
    def make_dataset(directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False):
        """`make_dataset`, for subclasses to change."""
        if class_to_idx is None:
            raise ValueError("DatasetFolder: class_to_idx is the number of each class, got None")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory):
        """`find_classes`, for subclasses to change."""
        return find_classes(directory)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self._given(self.loader(path), target)

    def __len__(self):
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders of classes: root/cat/1.png, root/dog/below/2.jpg. Without PIL they are tensors
    (3, H, W) of bytes, of PNGs and JPEGs.

    >>> import os, tempfile
    >>> root = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(root, "cat"))
    >>> torch.vision.utils.save_image(torch.ones(3, 4, 4), os.path.join(root, "cat", "a.png"))
    >>> data = torch.vision.datasets.ImageFolder(root)
    >>> len(data), data.class_to_idx, torch.vision.transforms.functional.get_dimensions(data[0][0])
    (1, {'cat': 0}, [3, 4, 4])
    """

    def __init__(self, root, transform=None, target_transform=None, loader=default_loader, is_valid_file=None, allow_empty=False):
        super().__init__(root, loader, IMG_EXTENSIONS if is_valid_file is None else None, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
