"""Train a linear classifier of handwritten digits and write `digits.safetensors`.

What:     One linear layer, 64 pixels and a constant one -> 10 classes, trained as multinomial logistic
          regression in plain numpy. The file holds 512 test images that were not trained on, their
          labels, and the trained weights.
Data:     The 1797 images bundled with scikit-learn as `sklearn.datasets.load_digits`, a copy of the test
          part of the UCI set. Nothing is downloaded.
Credit:   E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning
          Repository, 1998. https://archive.ics.uci.edu/ml/datasets/Optical+Recognition+of+Handwritten+Digits
Licence:  The data is CC BY 4.0, https://creativecommons.org/licenses/by/4.0/.
          Changes made to it: shuffled, split, pixels divided by 16, a constant one appended.
Needs:    Python 3.11, numpy 2.4.6, scikit-learn 1.9.1 (the versions that wrote the file kept here).
Run:      python -m pip install numpy==2.4.6 scikit-learn==1.9.1
          python train_digits.py
          It writes next to this script and takes a few seconds. The split and the starting point are
          fixed, and training runs until the gradient vanishes, so a run gives the same file again.
"""

import json
import pathlib
import struct

import numpy as np
from sklearn.datasets import load_digits

CLASSES = 10
PIXELS = 64
TEST_IMAGES = 512
SPLIT_SEED = 1998
# Pixels are whole numbers 0..=16. Divided by 16 they need at most 5 significant bits; bf16 has 8.
PIXEL_SCALE = 16.0
# Strength of the pull of the pixel weights towards zero. Chosen once, before looking at the test images.
WEIGHT_DECAY = 1e-3
GRADIENT_LIMIT = 1e-11
STEP_LIMIT = 50_000
ACCURACY_NEEDED = 0.90
OUTPUT = pathlib.Path(__file__).resolve().parent / "digits.safetensors"
SOURCE = (
    'E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", '
    "UCI Machine Learning Repository, 1998; copy bundled with scikit-learn"
)
LICENCE = "CC BY 4.0"
# Of files that hold weights, but no images.
METADATA_OF_WEIGHTS = {"source": f"trained on images of {SOURCE}", "license": LICENCE}


def round_to_bf16_bits(values):
    """Bits of the bf16 nearest to each finite f32, ties to even."""
    assert values.dtype == np.float32 and np.isfinite(values).all()
    bits = values.view(np.uint32)
    # Adding 0x7fff, and one more when the kept part is odd, carries exactly when rounding goes up.
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_bits_to_f32(bits):
    """The f32 with the same value as each bf16. Exact."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def load_split():
    """Train inputs, train labels, test inputs, test labels. Inputs are 64 pixels and then a constant one."""
    digits = load_digits()
    assert digits.data.shape == (1797, PIXELS)
    inputs = np.hstack([digits.data / PIXEL_SCALE, np.ones((len(digits.data), 1))])
    order = np.random.Generator(np.random.PCG64(SPLIT_SEED)).permutation(len(inputs))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return inputs[train], digits.target[train], inputs[test], digits.target[test]


def train_weights(inputs, labels):
    """Weights [10, 65] in f64 that minimise the mean cross entropy plus the decay of the pixel weights.

    The loss is convex, so accelerated gradient descent from zero reaches its one minimum.
    """
    count = len(inputs)
    wanted = np.eye(CLASSES)[labels]
    # The bias column is not decayed. Starting at zero keeps the sum of the biases at zero.
    decay = np.full(PIXELS + 1, WEIGHT_DECAY)
    decay[PIXELS] = 0.0
    # The curvature of softmax cross entropy is at most half that of the inputs.
    step = 1.0 / (0.5 * np.linalg.eigvalsh(inputs.T @ inputs / count)[-1] + WEIGHT_DECAY)
    weights = np.zeros((CLASSES, PIXELS + 1))
    ahead, momentum = weights, 1.0
    for _ in range(STEP_LIMIT):
        scores = inputs @ ahead.T
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = (chances - wanted).T @ inputs / count + decay * ahead
        if np.abs(gradient).max() < GRADIENT_LIMIT:
            return ahead
        following = ahead - step * gradient
        # Momentum that points uphill is dropped; this keeps the descent fast without tuning.
        if np.sum(gradient * (following - weights)) > 0.0:
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = following + (momentum - 1.0) / next_momentum * (following - weights)
        weights, momentum = following, next_momentum
    raise SystemExit(
        f"train: the gradient is above {GRADIENT_LIMIT} after {STEP_LIMIT} steps; it must fall below; "
        "raise STEP_LIMIT"
    )


def write_safetensors(path, tensors, metadata):
    """Write `{name: (dtype, array)}` in the given order. By hand, because numpy has no bf16."""
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, array) in tensors.items():
        # "<" makes the bytes little endian on every machine, as the format asks.
        raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path):
    """Read a file back: `({name: (dtype, array)}, metadata)`, bf16 as its bits. Checks every length."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    assert length % 8 == 0
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    metadata = header.pop("__metadata__")
    tensors, end = {}, 0
    for name, entry in header.items():
        start, stop = entry["data_offsets"]
        assert start == end, f"{name}: starts at {start}, the previous tensor ends at {end}"
        stored = {"BF16": "<u2", "I32": "<i4", "F32": "<f4", "I8": "i1"}[entry["dtype"]]
        tensors[name] = (entry["dtype"], np.frombuffer(data[start:stop], stored).reshape(entry["shape"]))
        end = stop
    assert end == len(data)
    return tensors, metadata


def write_and_read_back(path, tensors, metadata):
    """Write a file and return its arrays by name as they are read back: those that were given."""
    write_safetensors(path, tensors, metadata)
    stored, stored_metadata = read_safetensors(path)
    assert stored_metadata == metadata and list(stored) == list(tensors)
    width = max(map(len, stored))
    for name, (dtype, array) in stored.items():
        assert dtype == tensors[name][0] and np.array_equal(array, tensors[name][1])
        print(f"{name:{width}} {dtype:5} {list(array.shape)}")
    return {name: array for name, (_, array) in stored.items()}


def accuracy(images, weights, labels):
    """Share of images whose largest score is at their label, computed in the dtype of the arrays."""
    return float(np.mean(np.argmax(images @ weights.T, axis=1) == labels))


def main():
    train_inputs, train_labels, test_inputs, test_labels = load_split()
    weights = train_weights(train_inputs, train_labels)

    image_bits = round_to_bf16_bits(test_inputs.astype(np.float32))
    weight_bits = round_to_bf16_bits(weights.astype(np.float32))
    assert np.array_equal(bf16_bits_to_f32(image_bits), test_inputs), "bf16 must hold every pixel exactly"

    written = {
        "labels": ("I32", test_labels.astype(np.int32)),
        "images": ("BF16", image_bits),
        "weights": ("BF16", weight_bits),
    }
    stored = write_and_read_back(OUTPUT, written, {"source": SOURCE, "license": LICENCE})

    # From here on only what the file says counts.
    images = bf16_bits_to_f32(stored["images"])
    rounded_weights = bf16_bits_to_f32(stored["weights"])
    labels = stored["labels"]
    reached = accuracy(images, rounded_weights, labels)
    print(f"train accuracy, f64 weights:  {accuracy(train_inputs, weights, train_labels):.4f}")
    print(f"test accuracy, f64 weights:   {accuracy(test_inputs, weights, test_labels):.4f}")
    print(f"test accuracy, bf16 weights:  {reached:.4f} ({round(reached * len(labels))} of {len(labels)})")
    assert reached >= ACCURACY_NEEDED


if __name__ == "__main__":
    main()
