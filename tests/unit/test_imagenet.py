"""ImageNet's layouts on a made tree of its thousand classes."""

import shutil

import numpy as np
import pytest
import scipy.io
from made_photographs import save

from remanence.core.errors import DataError
from remanence.data.imagenet import Imagenet, known_wnids
from remanence.engine.run import Place, run
from remanence.experiment import Experiment
from remanence.orders import named_orders
from remanence.stream import make_stream

WNIDS = list(known_wnids())
SUBSETS = ("sub_ucir", "sub_paper", "sub_alpha")


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Two training images and one validation image of each class, of 12 x 10 pixels."""
    root = tmp_path_factory.mktemp("imagenet")
    some = [save(root.parent / f"{number}.jpg", number, (12, 10)) for number in range(20)]
    for place, wnid in enumerate(WNIDS):
        names = (f"train/{wnid}/{wnid}_7.JPEG", f"train/{wnid}/{wnid}_12.JPEG")
        for one, name in enumerate((*names, f"val/{wnid}/ILSVRC2012_val_{place:08}.JPEG")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(some[(place + one) % 20], root / name)
    return root


@pytest.fixture
def linked(whole, tmp_path):
    """The same training folder, and a flat folder of validation images."""
    root = tmp_path / "imagenet"
    (root / "val").mkdir(parents=True)
    (root / "train").symlink_to(whole / "train")
    for file in (whole / "val").glob("*/*"):
        (root / "val" / file.name).symlink_to(file)
    return root


def load(root, **chosen):
    return Imagenet(folder=str(root), size=8, workers=2, **chosen).load()


def shown(images):
    """Each file and the class that it is said to show."""
    return {
        name: WNIDS[label]
        for name, label in zip(
            images.album.names[images.places.numpy()], images.labels.tolist(), strict=True
        )
    }


def by_file(splits):
    """What each test image is said to show, wherever it lies."""
    return {name.split("/")[-1]: wnid for name, wnid in shown(splits.test).items()}


def test_a_class_is_the_place_of_its_wnid(whole):
    splits = load(whole)
    assert splits.class_names == tuple(WNIDS) == tuple(sorted(WNIDS))
    assert (len(splits.train), len(splits.test)) == (2000, 1000)
    for images in (splits.train, splits.test):
        assert all(name.split("/")[1] == wnid for name, wnid in shown(images).items())


def test_the_whole_is_learned_in_the_order_of_1993(whole):
    experiment = Experiment.of({"data": {"name": "imagenet", "folder": str(whole)}}).resolved()
    increments = make_stream(experiment.data.load(), experiment.stream).increments
    assert [len(one.names) for one in increments] == [500, 100, 100, 100, 100, 100]
    order = np.arange(1000)
    np.random.RandomState(1993).shuffle(order)
    assert [name for one in increments for name in one.names] == [WNIDS[i] for i in order]
    assert experiment.data.scale == "imagenet_full" and experiment.backbone.name == "resnet18"


@pytest.mark.parametrize("subset", SUBSETS)
def test_a_subset_has_its_hundred_classes_in_its_order(whole, subset):
    data = {"name": "imagenet", "folder": str(whole), "subset": subset}
    experiment = Experiment.of({"data": data, "method": "lucir"}).resolved()
    splits = experiment.data.load()
    assert (len(splits.train), len(splits.test)) == (200, 100)
    stream = make_stream(splits, experiment.stream)
    assert [len(one.names) for one in stream.increments] == [50, 10, 10, 10, 10, 10]
    order = named_orders()[f"imagenet_{subset}"]
    assert list(stream.class_names) == [WNIDS[index] for index in order]
    assert experiment.data.scale == "imagenet_sub"
    assert (experiment.training.epochs, experiment.training.augmentation) == (90, "imnet_lucir")


@pytest.mark.parametrize("style", ["csv", "text", "text elsewhere"])
def test_a_flat_val_folder_needs_a_list(whole, linked, style):
    files = sorted((whole / "val").glob("*/*"))
    chosen = None
    if style == "csv":
        lines = ["ImageId,PredictionString"]
        lines += [f"{one.stem},{one.parent.name} 85 1 499 272 3 4 5 6 " for one in reversed(files)]
        (linked / "LOC_val_solution.csv").write_text("\n".join(lines))
    else:
        path = linked / "val.txt" if style == "text" else linked.parent / "truth"
        path.write_text("".join(f"{one.name} {one.parent.name}\n" for one in files) + "\n")
        chosen = str(path) if style == "text elsewhere" else None
    assert by_file(load(linked, truth=chosen)) == by_file(load(whole))
    assert len(load(linked, truth=chosen, subset="sub_alpha").test) == 100


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            None,
            r"no LOC_val_solution.csv or ILSVRC2012_devkit_t12/data/ is beside it.*data\.truth=",
        ),
        ("490\n361\n", "line 1 of .*val.txt is no '<file> <wnid>'"),
        ("ILSVRC2012_val_00000000.JPEG 65\n", "line 1 of .*bare numbers are no wnids"),
        (f"ILSVRC2012_val_00000000.JPEG {WNIDS[0]}\n", "val.txt does not say what .* shows"),
        (b"\xff\xfe\x00", "is no text"),
    ],
)
def test_a_list_that_does_not_do_is_one_line(linked, content, line):
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (linked / "val.txt").write_bytes(data)
    with pytest.raises(DataError, match=line) as caught:
        load(linked)
    assert "\n" not in str(caught.value)


def test_only_the_classes_that_are_learned_must_be_there(whole, tmp_path, monkeypatch):
    for kind in ("train", "val"):
        (tmp_path / kind).mkdir()
        for wnid in WNIDS[:99]:
            (tmp_path / kind / wnid).symlink_to(whole / kind / wnid)
    line = rf"lacks 1 of the 100 class folders that are needed, {WNIDS[99]} first"
    with pytest.raises(DataError, match=line):
        load(tmp_path, subset="sub_alpha")
    for kind in ("train", "val"):
        (tmp_path / kind / WNIDS[99]).symlink_to(whole / kind / WNIDS[99])
    hundred = load(tmp_path, subset="sub_alpha")
    assert (len(hundred.train), len(hundred.test)) == (200, 100)
    assert shown(hundred.test) == shown(load(whole, subset="sub_alpha").test)
    monkeypatch.setenv("REMANENCE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"imagenet is not on this machine .*data\.folder=\.\.\."):
        Imagenet().load()


def test_the_subsets_are_the_published_hundreds():
    orders = named_orders()
    first = [WNIDS[index] for index in orders["imagenet_sub_ucir"][:4]]
    assert first == ["n03710193", "n03089624", "n04152593", "n01806567"]
    alphabetical = sorted(WNIDS[index] for index in orders["imagenet_sub_alpha"])
    assert (alphabetical[0], alphabetical[-1]) == ("n01440764", "n01855672")


@pytest.fixture
def devkit(linked):
    """The official list of numbers, and the file that says what they mean."""
    folder = linked / "ILSVRC2012_devkit_t12" / "data"
    folder.mkdir(parents=True)
    numbered = [(number, wnid) for number, wnid in enumerate(reversed(WNIDS), 1)]
    kinds = [("ILSVRC2012_ID", "i4"), ("WNID", "O"), ("words", "O")]
    synsets = np.array([(number, wnid, "a thing") for number, wnid in numbered], dtype=kinds)
    scipy.io.savemat(folder / "meta.mat", {"synsets": synsets})
    truth = "".join(f"{1000 - place}\n" for place in range(1000))
    (folder / "ILSVRC2012_validation_ground_truth.txt").write_text(truth)
    return folder


def test_the_official_ground_truth_is_understood(linked, devkit, whole):
    expected = {name.split("/")[-1]: wnid for name, wnid in shown(load(whole).test).items()}
    assert {
        name.split("/")[-1]: wnid for name, wnid in shown(load(linked).test).items()
    } == expected


@pytest.mark.parametrize(
    ("file", "content", "line"),
    [
        ("meta.mat", None, "meta.mat is missing: it says what the numbers beside it mean"),
        ("meta.mat", b"MATLAB 5.0 MAT-file" + bytes(200), "cannot read .*meta.mat"),
        ("ILSVRC2012_validation_ground_truth.txt", b"1\n2\n", "2 numbers for 1000 photographs"),
        ("ILSVRC2012_validation_ground_truth.txt", b"0\n" * 1000, "'0', which meta.mat does not"),
    ],
)
def test_a_damaged_devkit_is_one_line(linked, devkit, file, content, line):
    if content is None:
        (devkit / file).unlink()
    else:
        (devkit / file).write_bytes(content)
    with pytest.raises(DataError, match=line) as caught:
        load(linked)
    assert "\n" not in str(caught.value)


def test_empty_files_are_left_out_and_listed(linked, whole):
    (linked / "val").rename(linked / "flat")
    (linked / "val").symlink_to(whole / "val")
    (linked / "train").unlink()
    shutil.copytree(whole / "train", linked / "train")
    (linked / "train" / WNIDS[3] / f"{WNIDS[3]}_7.JPEG").write_bytes(b"")
    splits = load(linked)
    assert len(splits.train) == 1999
    assert list(splits.notes) == ["empty files left out: 1"]


def test_a_thousand_classes_are_learned_from_files(whole, tmp_path):
    """LUCIR+DDE through the published order: 500 classes, then 250 and 250."""
    experiment = Experiment.of(
        {
            "data": {"name": "imagenet", "folder": str(whole), "size": 8, "workers": 2},
            "stream": {"increment": 250},
            "method": {"name": "lucir", "finetune_epochs": 1},
            "effects": {"colliding": {}, "momentum": {"values": "constants"}},
            "backbone": {"name": "convnet", "width": 8},
            "memory": {"per_class": 1},
            "training": {"epochs": 1, "batch": 250},
            "machine": {"device": "cpu", "threads": 1, "precision": "float32"},
        }
    )
    records = run(experiment, Place(tmp_path / "run"))
    assert [sum(record.tested) for record in records] == [500, 750, 1000]
    assert [record.kept["images"] for record in records] == [500, 750, 1000]
    assert set(records[-1].readings) >= {"cnn", "cnn+momentum", "nme"}
    checkpoint = tmp_path / "run" / "checkpoints" / "learner.safetensors"
    assert b"_7.JPEG" in checkpoint.read_bytes()
