"""Quantise the transformer of `transformer.safetensors` to int8 and write `transformer_int8.safetensors`.

What:     A number x is stored as the i8 `round(x / scale) + zero`. Weights have a scale for each output, and no zero
          point. Activations have one scale and one zero point each:

            pixels and ones       scale 1/240, zero -128: every pixel, k/16, is exact
            norm(x), heads        range of the images that were trained on; 0 has a code of its own
            query, key, value     the same, with zero point 0
            shares of attention   scale 1/255, zero -128
            hidden units          from 0 to the greatest that occurs, zero -128: the lowest code is ReLU

          Products sum `(x - zero) * w` in integers. A multiplier for each output brings a sum to the scale of what it
          becomes, in fixed point: `round((sum << 7) * multiplier / 2^31)` is the code of query, key, value and hidden
          units, and 2^16 times the number where the parts of the network add theirs. These sums, norm and softmax are
          f32.
File:     sheets            i8 [18, 32, 32], as in `transformer.safetensors`
          multipliers       i32 [18, 32], for each output: scale of the input * scale of the weights / scale of the
                            output, times 2^24
          norm_factors      f32 [5], one over the scale of the result, of each norm in order
          norm_zeros        i32 [5], its zero point
          score_factors     f32 [2], scale of query * scale of key, of each block
          head_multipliers  i32 [2], scale of shares * scale of value / scale of heads, times 2^24
          head_zeros        i32 [2], zero point of heads
Data, credit, licence: those of `train_digits.py`. The test images have no part in the choice of any number.
Needs:    Python 3.11, numpy 2.4.6, scikit-learn 1.9.1 (the versions that wrote the file kept here).
Run:      python quantize_transformer.py
          It writes next to this script and takes some seconds.
"""

import pathlib

import numpy as np

import train_digits as digits
import train_transformer as transformer
from train_transformer import BLOCKS, PIXELS, TOKENS, WIDTH

ACCURACY_NEEDED = 0.97
OUTPUT = pathlib.Path(__file__).resolve().parent / "transformer_int8.safetensors"
PIXEL_SCALE = 1 / 240
SHARE_SCALE = 1 / 255
# The unit of what a product adds to the tokens, and of the scores.
NUMBER_SCALE = 2.0**-16
# Sums are below 2^23, so that they can be shifted by so many bits.
SHIFT = 7


def ranges(parts, images):
    """Smallest and greatest of every activation: norms; for each block query, key, value, heads and hidden units."""
    _, (kept, last_norm, *_) = transformer.forward(parts, images)

    def ends(x):
        return min(float(x.min()), 0.0), max(float(x.max()), 0.0)

    norms, blocks = [], []
    for n, _, q, k, v, _, o, m, _, h, _ in kept:
        norms += [ends(n), ends(m)]
        blocks.append([ends(x) for x in (q, k, v, o, h)])
    return norms + [ends(last_norm)], blocks


def asymmetric(low, high):
    """Scale and zero point: the 256 codes cover the range, and 0 has one of them."""
    scale = (high - low) / 255
    return scale, int(np.round(-128 - low / scale))


def symmetric(low, high):
    return max(-low, high) / 127


def multiplier(factor):
    """The factor in fixed point."""
    result = np.round(factor * 2.0 ** (31 - SHIFT))
    assert (result < 2**31).all() and (result >= 2**10).all(), "other scales need another shift"
    return result.astype(np.int32)


def scaled(sums, multipliers):
    """`round((sum << SHIFT) * multiplier / 2^31)`, halves towards the greater, as the chip does."""
    shifted = sums << SHIFT
    assert (np.abs(shifted) < 2**31).all()
    return ((shifted * multipliers.astype(np.int64) >> 30) + 1) >> 1


def quantized(parts, images):
    """The tensors of the file, by name."""
    norms, blocks = ranges(parts, images)
    sheets = transformer.to_sheets(parts).astype(np.float64)
    greatest = np.abs(sheets).max(axis=2)
    # A row of zeros may have any scale.
    weight_scales = np.where(greatest == 0, 1, greatest) / 127
    # The two sheets of `down` are added before they are scaled: they share their scales.
    for block in range(BLOCKS):
        own = weight_scales[7 + 8 * block :][:2]
        own[:] = own.max(axis=0)
    codes = np.round(sheets / weight_scales[:, :, None]).astype(np.int8)
    norm_codes = [asymmetric(*ends) for ends in norms]
    inputs, outputs = np.empty(len(sheets)), np.full(len(sheets), NUMBER_SCALE)
    inputs[0], inputs[-1] = PIXEL_SCALE, norm_codes[-1][0]
    score_factors, head_multipliers, head_zeros = [], [], []
    for block, (query, key, value, heads, hidden) in enumerate(blocks):
        first = 1 + 8 * block
        head_scale, head_zero = asymmetric(*heads)
        inputs[first : first + 3] = norm_codes[2 * block][0]
        outputs[first : first + 3] = [symmetric(*ends) for ends in (query, key, value)]
        inputs[first + 3] = head_scale
        inputs[first + 4 : first + 6] = norm_codes[2 * block + 1][0]
        outputs[first + 4 : first + 6] = inputs[first + 6 : first + 8] = asymmetric(*hidden)[0]
        score_factors.append(outputs[first] * outputs[first + 1])
        head_multipliers.append(multiplier(SHARE_SCALE * outputs[first + 2] / head_scale))
        head_zeros.append(head_zero)
    return {
        "sheets": codes,
        "multipliers": multiplier(inputs[:, None] * weight_scales / outputs[:, None]),
        "norm_factors": np.array([1 / scale for scale, _ in norm_codes], np.float32),
        "norm_zeros": np.array([zero for _, zero in norm_codes], np.int32),
        "score_factors": np.array(score_factors, np.float32),
        "head_multipliers": np.array(head_multipliers, np.int32),
        "head_zeros": np.array(head_zeros, np.int32),
    }


def forward(own, images):
    """Scores by the tensors of the file: sums in integers, everything else in f32 or wider."""

    def clipped(x, zero):
        return np.clip(x + zero, -128, 127)

    def code(x, zero):
        # Halves are rounded away from zero, as the chip does.
        return clipped(np.trunc(x + np.copysign(0.5, x)).astype(np.int64), zero)

    def product(x, zero, *sheets):
        """[images, tokens, outputs]; sums of the sheets behind each other, each with its part of the inputs."""
        weights = np.concatenate([own["sheets"][sheet] for sheet in sheets], axis=1).astype(np.int64)
        return scaled((x - zero) @ weights.T, own["multipliers"][sheets[0]])

    def norm(x, number):
        size = np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(transformer.EPSILON))
        zero = own["norm_zeros"][number]
        return code(x * own["norm_factors"][number] / size, zero), zero

    pixels = np.zeros((len(images), TOKENS, WIDTH))
    pixels[..., :PIXELS] = images
    pixels[..., PIXELS : PIXELS + TOKENS] = np.eye(TOKENS)
    x = product(code(pixels / PIXEL_SCALE, -128), -128, 0) * NUMBER_SCALE
    for block in range(BLOCKS):
        first = 1 + 8 * block
        n, zero = norm(x, 2 * block)
        q, k, v = (transformer.to_heads(clipped(product(n, zero, first + part), 0)) for part in range(3))
        s = q @ k.transpose(0, 1, 3, 2) * own["score_factors"][block]
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        p = code(p * 255 / p.sum(axis=-1, keepdims=True), -128)
        o = transformer.from_heads(scaled((p + 128) @ v, own["head_multipliers"][block]))
        zero = own["head_zeros"][block]
        x = x + product(clipped(o, zero), zero, first + 3) * NUMBER_SCALE
        n, zero = norm(x, 2 * block + 1)
        h = np.concatenate([clipped(product(n, zero, first + part), -128) for part in (4, 5)], axis=-1)
        x = x + product(h, -128, first + 6, first + 7) * NUMBER_SCALE
    n, zero = norm(x, 2 * BLOCKS)
    # The head sums over the tokens; its weights hold the division of their mean.
    sums = (n - zero).sum(axis=1) @ own["sheets"][-1].astype(np.int64).T
    return (scaled(sums, own["multipliers"][-1]) * NUMBER_SCALE)[:, : digits.CLASSES]


def main():
    stored, _ = digits.read_safetensors(transformer.OUTPUT)
    parts = transformer.from_sheets(digits.bf16_bits_to_f32(stored["sheets"][1]))
    train_images, train_labels, test_images, test_labels = transformer.load_images()
    types = {np.dtype(np.int8): "I8", np.dtype(np.int32): "I32", np.dtype(np.float32): "F32"}
    written = {name: (types[array.dtype], array) for name, array in quantized(parts, train_images).items()}
    # From here on only what the file says counts.
    own = digits.write_and_read_back(OUTPUT, written, digits.METADATA_OF_WEIGHTS)
    for text, images, labels in (("train", train_images, train_labels), ("test", test_images, test_labels)):
        found = forward(own, images)
        exact, _ = transformer.forward(parts, images)
        right = int((found.argmax(axis=1) == labels).sum())
        print(
            f"{text}: int8 {right} of {len(labels)}, {right / len(labels):.4f}; "
            f"bf16 weights {transformer.right(parts, images, labels)}; "
            f"largest difference of a score {np.abs(found - exact).max():.3f}"
        )
    assert right >= ACCURACY_NEEDED * len(test_labels)


if __name__ == "__main__":
    main()
