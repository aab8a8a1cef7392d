"""Train a small vision transformer for handwritten digits and write `transformer.safetensors`.

What:     An image of 8 x 8 pixels is 8 tokens, one for each row of pixels. Each token becomes 32 numbers, to which its
          learned position is added; two blocks with a norm before each part (attention with 4 heads of 8; a hidden
          layer of 64 units with ReLU) add to them; the mean of the tokens, after a last norm, gives 10 scores.

            x = pixels . embed + positions
            twice:  n = norm(x); x += softmax(query(n) . key(n)) . value(n) . output
                    n = norm(x); x += max(0, n . up) . down
            scores = mean over tokens of norm(x) . head

          The norm is x / sqrt(mean of x^2 + 1e-5). It has no scale of its own: that of the weights behind it does the
          same. The division of attention by the root of 8 is part of `query`.
File:     `sheets`, bf16 [18, 32 outputs, 32 inputs], because every matrix is made of sheets of 32 x 32:
             0      embed: inputs 0 to 7 are the pixels of a row, inputs 8 to 15 say which row it is: 1 for row t in
                    input 8 + t, 0 elsewhere, so that these columns are the positions; the other columns are 0
             1 + 8b query, key, value, output of block b, then the two halves of the outputs of up, and those of the
                    inputs of down
             17     head: 10 rows, with the division of the mean by 8 in them; the other rows are 0
          The images and labels to try it on are those of `digits.safetensors`.
Data, credit, licence: those of `train_digits.py`, whose split and file format this script uses.
Needs:    Python 3.11, numpy 2.4.6, scikit-learn 1.9.1 (the versions that wrote the file kept here).
Run:      python -m pip install numpy==2.4.6 scikit-learn==1.9.1
          python train_transformer.py
          It writes next to this script and takes some minutes. Split, starting point and all steps are fixed.
"""

import pathlib
import sys

import numpy as np

import train_digits as digits

TOKENS = PIXELS = 8
WIDTH = 32
HEADS = 4
HEAD = WIDTH // HEADS
HIDDEN = 64
BLOCKS = 2
EPSILON = 1e-5
SEED = 1
STEPS = 12000
BATCH = 128
RATE = 3e-3
WEIGHT_DECAY = 0.05
# The stored weights are the mean of those of about so many last steps.
AVERAGED = 1000
ACCURACY_NEEDED = 0.98
OUTPUT = pathlib.Path(__file__).resolve().parent / "transformer.safetensors"


def start(random):
    """The weights before the first step, by name, in file order. Weights are [outputs, inputs]."""

    def weights(outputs, inputs, gain=1.0):
        return (random.normal(size=(outputs, inputs)) * gain / np.sqrt(inputs)).astype(np.float32)

    parts = {"embed": weights(WIDTH, PIXELS), "positions": weights(TOKENS, WIDTH, 2.0)}
    for block in range(BLOCKS):
        for name in ("query", "key", "value", "output"):
            gain = {"query": HEAD**-0.5, "output": 0.5}.get(name, 1.0)
            parts[f"{name}{block}"] = weights(WIDTH, WIDTH, gain)
        parts[f"up{block}"] = weights(HIDDEN, WIDTH, np.sqrt(2.0))
        parts[f"down{block}"] = weights(WIDTH, HIDDEN, 0.5)
    parts["head"] = weights(digits.CLASSES, WIDTH)
    return parts


def norm(x):
    """`x / sqrt(mean of x^2 + epsilon)`, and the divisor."""
    size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
    return x / size, size


def norm_gradient(gradient, normed, size):
    return (gradient - normed * (gradient * normed).mean(axis=-1, keepdims=True)) / size


def to_heads(x):
    """[images, tokens, width] as [images, heads, tokens, head]."""
    return x.reshape(len(x), TOKENS, HEADS, HEAD).transpose(0, 2, 1, 3)


def from_heads(x):
    return x.transpose(0, 2, 1, 3).reshape(len(x), TOKENS, WIDTH)


def forward(parts, images):
    """Scores of images [images, 8, 8], and what the way back needs. `query` holds the division by the root of 8."""
    x = images @ parts["embed"].T + parts["positions"]
    kept = []
    for block in range(BLOCKS):
        n, n_size = norm(x)
        q, k, v = (to_heads(n @ parts[f"{name}{block}"].T) for name in ("query", "key", "value"))
        s = q @ k.transpose(0, 1, 3, 2)
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        o = from_heads(p @ v)
        x = x + o @ parts[f"output{block}"].T
        m, m_size = norm(x)
        h = np.maximum(m @ parts[f"up{block}"].T, 0)
        x = x + h @ parts[f"down{block}"].T
        kept.append((n, n_size, q, k, v, p, o, m, m_size, h, s))
    n, n_size = norm(x)
    mean = n.mean(axis=1)
    return mean @ parts["head"].T, (kept, n, n_size, mean)


def backward(parts, images, gradient, state):
    """Gradients of all parts from that of the scores."""
    kept, n, n_size, mean = state
    out = {"head": gradient.T @ mean}

    def outer(left, right):
        return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])

    gx = np.broadcast_to((gradient @ parts["head"] / TOKENS)[:, None], n.shape)
    gx = norm_gradient(gx, n, n_size)
    for block in reversed(range(BLOCKS)):
        n, n_size, q, k, v, p, o, m, m_size, h, _ = kept[block]
        out[f"down{block}"] = outer(gx, h)
        gh = (gx @ parts[f"down{block}"]) * (h > 0)
        out[f"up{block}"] = outer(gh, m)
        gx = gx + norm_gradient(gh @ parts[f"up{block}"], m, m_size)
        out[f"output{block}"] = outer(gx, o)
        go = to_heads(gx @ parts[f"output{block}"])
        gv, gp = p.transpose(0, 1, 3, 2) @ go, go @ v.transpose(0, 1, 3, 2)
        gs = p * (gp - (gp * p).sum(axis=-1, keepdims=True))
        gq, gk = from_heads(gs @ k), from_heads(gs.transpose(0, 1, 3, 2) @ q)
        gn = 0
        for name, own in (("query", gq), ("key", gk), ("value", from_heads(gv))):
            out[f"{name}{block}"] = outer(own, n)
            gn = gn + own @ parts[f"{name}{block}"]
        gx = gx + norm_gradient(gn, n, n_size)
    out["embed"], out["positions"] = outer(gx, images), gx.sum(axis=0)
    return out


def moved(images, random):
    """Each image shifted, turned, sheared and scaled a little, between pixels by bilinear interpolation."""
    count = len(images)
    angle = random.uniform(-0.2, 0.2, count)
    scale = np.exp(random.uniform(-0.12, 0.12, (count, 2)))
    shear = random.uniform(-0.15, 0.15, count)
    shift = random.uniform(-0.7, 0.7, (count, 2))
    row, column = np.mgrid[0:8, 0:8].reshape(2, 64) - 3.5
    turned_row = np.cos(angle)[:, None] * row - np.sin(angle)[:, None] * column
    turned_column = np.sin(angle)[:, None] * row + np.cos(angle)[:, None] * column + shear[:, None] * row
    y = turned_row * scale[:, :1] + shift[:, :1] + 3.5
    x = turned_column * scale[:, 1:] + shift[:, 1:] + 3.5
    # Two rows and columns of paper on every side.
    padded = np.zeros((count, 12, 12), np.float32)
    padded[:, 2:10, 2:10] = images
    y, x = np.clip(y + 2, 0, 10.999), np.clip(x + 2, 0, 10.999)
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = y - y0, x - x0
    own = np.arange(count)[:, None]
    result = (1 - fy) * ((1 - fx) * padded[own, y0, x0] + fx * padded[own, y0, x0 + 1])
    result += fy * ((1 - fx) * padded[own, y0 + 1, x0] + fx * padded[own, y0 + 1, x0 + 1])
    return result.reshape(count, 8, 8).astype(np.float32)


def train(images, labels, steps=STEPS, seed=SEED):
    """The parts after so many steps of Adam on images that are moved anew in each."""
    random = np.random.Generator(np.random.PCG64(seed))
    parts = start(random)
    means = {name: np.zeros_like(part) for name, part in parts.items()}
    squares = {name: np.zeros_like(part) for name, part in parts.items()}
    averages = {name: part.copy() for name, part in parts.items()}
    wanted = np.eye(digits.CLASSES, dtype=np.float32)[labels]
    for step in range(1, steps + 1):
        chosen = random.integers(0, len(images), BATCH)
        batch = moved(images[chosen], random)
        found, state = forward(parts, batch)
        chances = np.exp(found - found.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        # The wanted chance of the label is 0.9, not 1.
        smoothed = np.float32(0.9) * wanted[chosen] + np.float32(0.1 / digits.CLASSES)
        gradients = backward(parts, batch, (chances - smoothed) / BATCH, state)
        rate = RATE * min(1.0, step / 300) * 0.5 * (1.0 + np.cos(np.pi * step / steps))
        keep = max(1.0 / step, 1.0 / AVERAGED)
        for name, part in parts.items():
            gradient, mean, square = gradients[name], means[name], squares[name]
            mean += np.float32(0.1) * (gradient - mean)
            square += np.float32(0.01) * (gradient * gradient - square)
            step_of = (mean / (1.0 - 0.9**step)) / (np.sqrt(square / (1.0 - 0.99**step)) + 1e-8)
            part -= (rate * (step_of + WEIGHT_DECAY * part)).astype(np.float32)
            averages[name] += np.float32(keep) * (part - averages[name])
        if step % 1000 == 0:
            loss = -np.log(chances[np.arange(BATCH), labels[chosen]]).mean()
            print(f"step {step}: loss {loss:.4f}", file=sys.stderr)
    return averages


def to_sheets(parts):
    """[18, 32, 32] as the file has it."""
    sheets = np.zeros((2 + 8 * BLOCKS, WIDTH, WIDTH), np.float32)
    sheets[0, :, :PIXELS] = parts["embed"]
    sheets[0, :, PIXELS : PIXELS + TOKENS] = parts["positions"].T
    for block in range(BLOCKS):
        own = sheets[1 + 8 * block :][:8]
        for sheet, name in enumerate(("query", "key", "value", "output")):
            own[sheet] = parts[f"{name}{block}"]
        own[4:6] = parts[f"up{block}"].reshape(2, WIDTH, WIDTH)
        own[6:8] = parts[f"down{block}"].reshape(WIDTH, 2, WIDTH).transpose(1, 0, 2)
    sheets[-1, : digits.CLASSES] = parts["head"] / TOKENS
    return sheets


def from_sheets(sheets):
    """The parts again."""
    embed, head = sheets[0], sheets[-1]
    parts = {"embed": embed[:, :PIXELS], "positions": embed[:, PIXELS : PIXELS + TOKENS].T}
    for block in range(BLOCKS):
        own = sheets[1 + 8 * block :][:8]
        for sheet, name in enumerate(("query", "key", "value", "output")):
            parts[f"{name}{block}"] = own[sheet]
        parts[f"up{block}"] = own[4:6].reshape(HIDDEN, WIDTH)
        parts[f"down{block}"] = own[6:8].transpose(1, 0, 2).reshape(WIDTH, HIDDEN)
    parts["head"] = head[: digits.CLASSES] * TOKENS
    return parts


def right(parts, images, labels):
    """How many images have their largest score at their label."""
    return int((np.argmax(forward(parts, images)[0], axis=1) == labels).sum())


def load_images():
    """Train images [1285, 8, 8], labels, test images [512, 8, 8], labels. Without the constant one of the file."""
    train_inputs, train_labels, test_inputs, test_labels = digits.load_split()
    shape = (-1, TOKENS, PIXELS)
    train_images, test_images = (
        inputs[:, : digits.PIXELS].reshape(shape).astype(np.float32) for inputs in (train_inputs, test_inputs)
    )
    return train_images, train_labels, test_images, test_labels


def main():
    train_images, train_labels, test_images, test_labels = load_images()
    parts = train(train_images, train_labels)
    written = {"sheets": ("BF16", digits.round_to_bf16_bits(to_sheets(parts)))}
    stored = digits.write_and_read_back(OUTPUT, written, digits.METADATA_OF_WEIGHTS)

    # From here on only what the file says counts.
    own = from_sheets(digits.bf16_bits_to_f32(stored["sheets"]))
    for text, weights, images, labels in (
        ("train, f32 weights", parts, train_images, train_labels),
        ("test, f32 weights", parts, test_images, test_labels),
        ("train, bf16 weights", own, train_images, train_labels),
        ("test, bf16 weights", own, test_images, test_labels),
    ):
        reached = right(weights, images, labels)
        print(f"{text + ':':22}{reached} of {len(labels)}, {reached / len(labels):.4f}")
    scores, (kept, *_) = forward(own, test_images)
    greatest = max(float(np.abs(block[-1]).max()) for block in kept)
    print(f"scores between {scores.min():.1f} and {scores.max():.1f}, arguments of softmax within {greatest:.1f}")
    assert reached >= ACCURACY_NEEDED * len(test_labels)


if __name__ == "__main__":
    main()
