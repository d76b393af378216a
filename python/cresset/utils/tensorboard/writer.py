"""Writers of event files."""

import os
import socket
import time
from datetime import datetime

import _cresset
import numpy as np

from . import _images, _wire, summary
from ._records import EventFile

__all__ = ["FileWriter", "SummaryWriter"]


class FileWriter:
    """Writes events and summaries, as bytes, to one file in a folder, which is made if it is not there.

    Args:
        log_dir: the folder.
        max_queue: how many events wait at most before they are written.
        flush_secs: how long they wait at most.
        filename_suffix: the end of the file's name.

    >>> import tempfile
    >>> from cresset.utils.tensorboard import FileWriter
    >>> from cresset.utils.tensorboard.summary import scalar
    >>> writer = FileWriter(tempfile.mkdtemp())
    >>> writer.add_summary(scalar("loss", 0.5), global_step=1)
    >>> writer.close()
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._settings = os.fspath(log_dir), max_queue, flush_secs, filename_suffix
        self.event_writer = EventFile(*self._settings)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.folder

    def add_event(self, event, step=None, walltime=None):
        """Writes an event: the bytes of its content, to which time and step are added."""
        head = _wire.double(1, time.time() if walltime is None else walltime)
        self.event_writer.add(head + (b"" if step is None else _wire.integer(2, step)) + event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Writes a summary."""
        self.add_event(_wire.data(5, summary), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        """Writes a graph: the bytes of the graph, and those of what was measured of its run."""
        graph, measured = graph_profile
        self.add_event(_wire.data(4, graph), None, walltime)
        self.add_event(_wire.data(8, _wire.data(1, "step1") + _wire.data(2, measured)), None, walltime)

    def add_onnx_graph(self, graph, walltime=None):
        """Writes a graph that `onnx_graph` gave."""
        self.add_event(_wire.data(4, graph), None, walltime)

    def flush(self):
        """Writes what waits."""
        self.event_writer.flush()

    def close(self):
        """Writes what waits and closes the file."""
        self.event_writer.close()

    def reopen(self):
        """After `close`: goes on in a new file of the folder."""
        if self.event_writer.closed:
            self.event_writer = EventFile(*self._settings)


class SummaryWriter:
    """Writes what training gives to event files, which TensorBoard shows.

    Args:
        log_dir: the folder; by default runs/TIME_HOST, with `comment` behind it.
        comment: see above.
        purge_step: after a restart: what was written for this step and later ones is hidden.
        max_queue: how many events wait at most before they are written.
        flush_secs: how long they wait at most.
        filename_suffix: the end of the names of files.

    A context manager, which closes the files at its end. Values are tensors, arrays or numbers; every method takes the step they belong to.

    >>> import tempfile
    >>> from cresset.utils.tensorboard import SummaryWriter
    >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
    ...     for step in range(3):
    ...         writer.add_scalar("loss", 1 / (step + 1), step)
    ...     writer.add_histogram("weights", torch.randn(100), 2)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            log_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir, self.purge_step = os.fspath(log_dir), purge_step
        self.max_queue, self.flush_secs, self.filename_suffix = max_queue, flush_secs, filename_suffix
        self.file_writer = self.all_writers = None
        self._get_file_writer()
        self.default_bins = _cresset.histogram_edges()

    def _writer_in(self, folder):
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self):
        if self.all_writers is None or self.file_writer is None:
            self.file_writer = self._writer_in(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                self.file_writer.add_event(_wire.data(3, "brain.Event:2"), self.purge_step)
                self.file_writer.add_event(_wire.data(7, _wire.integer(1, 1)), self.purge_step)
                self.purge_step = None
        return self.file_writer

    def get_logdir(self):
        """The folder."""
        return self.log_dir

    def _add(self, made, step, walltime):
        self._get_file_writer().add_summary(made, step, walltime)

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """A number; `new_style` writes it as a tensor, in float64 with `double_precision`. AssertionError for more than one element."""
        self._add(summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision), global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Numbers that are drawn in one chart; each has a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = f"{base}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = self._writer_in(folder)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """A whole tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """How the values are distributed: over bins that grow exponentially, or those that `numpy.histogram` makes of `bins`. ValueError for none."""
        bins = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summary.histogram(tag, values, bins, max_bins=max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None, walltime=None):
        """A histogram that is counted already: `bucket_counts[i]` values up to `bucket_limits[i]`. ValueError for lists of different lengths."""
        self._add(summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts), global_step, walltime)

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """A picture of numbers from 0 to 1, or of bytes; `dataformats` names its dimensions: CHW, HWC, HW."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Pictures (N, C, H, W), or NHWC, side by side."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1, dataformats="CHW", labels=None):
        """A picture with boxes (N, 4) of left, top, right, bottom drawn into it; with labels, which need Pillow."""
        self._add(summary.image_boxes(tag, img_tensor, box_tensor, rescale=rescale, dataformats=dataformats, labels=labels), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """A figure of matplotlib, or a list of them; they are closed unless `close` is false. ImportError where matplotlib is missing."""
        try:
            import matplotlib.pyplot as plt
            from matplotlib.backends.backend_agg import FigureCanvasAgg
        except ImportError as error:
            raise ModuleNotFoundError(
                f"add_figure: figures are drawn by the package matplotlib, which cannot be imported: {error}", name="matplotlib"
            ) from None

        drawn = []
        for one in figure if isinstance(figure, list) else [figure]:
            canvas = FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba())[:, :, :3].transpose(2, 0, 1))
            if close:
                plt.close(one)
        if isinstance(figure, list):
            self.add_image(tag, np.stack(drawn), global_step, walltime, dataformats="NCHW")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, dataformats="CHW")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Videos (N, T, C, H, W) of numbers from 0 to 1, or of bytes, side by side."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Sound (L) or (1, L) of numbers from -1 to 1. AssertionError for more channels."""
        self._add(summary.audio(tag, snd_tensor, sample_rate=sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Text, shown as Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """The operators that the model runs on an input (a tensor or a tuple of arguments), within the modules that call them.

        One run is shown: of branches, the one that was taken. `use_strict_trace` has no meaning for that.
        """
        from ._graph import recorded

        graph, text = recorded(model, input_to_model)
        if verbose:
            print(text)
        self._get_file_writer().add_graph((graph, b""))

    def add_onnx_graph(self, prototxt):
        """The graph of an ONNX file. ImportError where the package onnx is missing."""
        from ._graph import of_onnx

        self._get_file_writer().add_onnx_graph(of_onnx(prototxt))

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Points (N, D) for the projector, with a label and a picture (N, C, H, W) each. AssertionError for other numbers of labels or pictures.

        `metadata_header` names the columns where each label is a list.
        """
        points = _images.make_np(mat)
        step = global_step or 0
        place = f"{step:05d}/{_safe(tag)}"
        folder = os.path.join(self._get_file_writer().get_logdir(), place)
        if os.path.isdir(folder):
            print("warning: add_embedding: the folder of this step is there already; give another global_step")
        os.makedirs(folder, exist_ok=True)
        if metadata is not None and len(points) != len(metadata):
            raise AssertionError(f"#labels should equal with #data points, got {len(metadata)} and {len(points)}")
        if label_img is not None and len(points) != len(label_img):
            raise AssertionError(f"#images should equal with #data points, got {len(label_img)} and {len(points)}")
        if points.ndim != 2:
            raise AssertionError(f"add_embedding: expected a matrix with a row for each point, got {points.ndim} dimensions")
        entry = [f'  tensor_name: "{tag}:{step:05d}"']
        if metadata is not None:
            rows = ["\t".join(map(str, row)) for row in ([metadata_header, *metadata] if metadata_header else [])] or [str(x) for x in metadata]
            _write(os.path.join(folder, "metadata.tsv"), rows)
            entry.append(f'  metadata_path: "{place}/metadata.tsv"')
        if label_img is not None:
            height, width = _write_sprite(os.path.join(folder, "sprite.png"), _images.make_np(label_img))
            entry.append(f'  sprite {{\n    image_path: "{place}/sprite.png"\n    single_image_dim: {width}\n    single_image_dim: {height}\n  }}')
        _write(os.path.join(folder, "tensors.tsv"), ("\t".join(map(str, row)) for row in points.tolist()))
        entry.append(f'  tensor_path: "{place}/tensors.tsv"')
        self._projector = getattr(self, "_projector", "") + "embeddings {\n" + "\n".join(entry) + "\n}\n"
        _write(os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt"), [self._projector[:-1]])

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Precision and recall of labels 0 and 1 and predictions from 0 to 1, at so many thresholds (127 at most)."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall,
                         global_step=None, num_thresholds=127, weights=None, walltime=None):  # fmt: skip
        """`add_pr_curve` of counts that are there already."""
        counts = (true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall)
        self._add(summary.pr_curve_raw(tag, *counts, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Draws the scalars of these tags in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Draws a scalar with a band around it: three tags, of its value, the lower and the upper bound."""
        if len(tags) != 3:
            raise AssertionError(f"add_custom_scalars_marginchart: expected three tags, got {len(tags)}")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        """Which scalars are drawn in one chart: {category: {chart: ["Multiline" or "Margin", [tags]]}}. Once a writer."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Points (B, N, 3), their colours (B, N, 3) of 0 to 255, and triangles (B, M, 3) of numbers of points. ValueError for other shapes."""
        for name, part in (("vertices", vertices), ("colors", colors), ("faces", faces)):
            if part is not None and (part.ndim != 3 or part.shape[2] != 3):
                raise ValueError(f"add_mesh: {name} should be of shape BxNx3, but got {tuple(part.shape)}.")
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """The hyperparameters of a run and what came of it, in a folder of its own named `run_name`, by default the time.

        Errors: TypeError for other than dictionaries, ValueError for values that are neither numbers, texts nor tensors.
        """
        made = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for part in made:
                writer.file_writer.add_summary(part, global_step)
            for name, value in metric_dict.items():
                writer.add_scalar(name, value, global_step)

    def flush(self):
        """Writes what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self):
        """Writes what waits and closes the files; later calls begin new ones."""
        for writer in (self.all_writers or {}).values():
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _write(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def _safe(tag):
    """A tag as the name of a folder."""
    return "".join(c if c.isalnum() or c in "_-. " else "".join(f"%{byte:02x}" for byte in c.encode()) for c in tag)


def _write_sprite(path, pictures):
    """Pictures in a square of so many a side; returns the height and width of one."""
    side = int(np.ceil(len(pictures) ** 0.5))
    blank = np.zeros((side * side - len(pictures), *pictures.shape[1:]), dtype=pictures.dtype)
    grid = _images.make_grid(np.concatenate([pictures, blank]), side).transpose(1, 2, 0)
    with open(path, "wb") as file:
        file.write(_images.png(_images.to_bytes(grid)[None]))
    return pictures.shape[2], pictures.shape[3]
