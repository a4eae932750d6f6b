"""Writes rope_llama3.json: the llama3 scaling of rotary frequencies and
rotations by them, from the formulas in double precision."""

import math

import numpy as np
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from golden import arguments, rounded, write_json

POSITIONS = [0, 1, 8191, 8192, 20000]

CASES = [
    {"head_dim": 64, "theta": 500000.0, "factor": 32.0},
    {"head_dim": 128, "theta": 500000.0, "factor": 8.0},
]

COMMON = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}

DIGITS = 17


def frequencies(case):
    """Inverse frequencies before the scaling and after it."""
    original = case["original_max_position_embeddings"]
    low, high = case["low_freq_factor"], case["high_freq_factor"]
    plain, scaled = [], []
    for i in range(0, case["head_dim"], 2):
        frequency = case["theta"] ** (-i / case["head_dim"])
        wavelength = 2 * math.pi / frequency
        plain.append(frequency)
        if wavelength < original / high:
            scaled.append(frequency)
        elif wavelength > original / low:
            scaled.append(frequency / case["factor"])
        else:
            smooth = (original / wavelength - low) / (high - low)
            scaled.append((1 - smooth) * frequency / case["factor"] + smooth * frequency)
    return np.array(plain), np.array(scaled)


def check(case, scaled):
    config = LlamaConfig(
        hidden_size=4 * case["head_dim"],
        num_attention_heads=4,
        head_dim=case["head_dim"],
        max_position_embeddings=131072,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": case["theta"],
            "factor": case["factor"],
            **COMMON,
        },
    )
    theirs, attention_factor = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    difference = np.abs(theirs.double().numpy() / scaled - 1).max()
    print(f"head_dim {case['head_dim']}: transformers differs by {difference:.2e} (relative)")
    assert attention_factor == 1.0 and difference < 2e-6


def rotate(x, angles):
    cos, sin = np.cos(angles), np.sin(angles)
    half = len(x) // 2
    a, b = x[:half], x[half:]
    halves = np.concatenate([a * cos - b * sin, b * cos + a * sin])
    a, b = x[0::2], x[1::2]
    neighbours = np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(-1)
    return halves, neighbours


def main():
    args = arguments(__doc__)
    result = []
    for case in CASES:
        case = {**case, **COMMON}
        plain, scaled = frequencies(case)
        check(case, scaled)
        vector = np.array([math.sin(1 + i * i) for i in range(case["head_dim"])])
        vector /= math.sqrt(np.dot(vector, vector))
        rotations = []
        for position in POSITIONS:
            angles = position * scaled
            halves, neighbours = rotate(vector, angles)
            rotations.append(
                {
                    "position": position,
                    "cos": rounded(np.cos(angles), DIGITS),
                    "sin": rounded(np.sin(angles), DIGITS),
                    "halves": rounded(halves, DIGITS),
                    "neighbours": rounded(neighbours, DIGITS),
                }
            )
        result.append(
            {
                **case,
                "unscaled_inv_freq": rounded(plain, DIGITS),
                "inv_freq": rounded(scaled, DIGITS),
                "divisors": rounded(plain / scaled, DIGITS),
                "vector": rounded(vector, DIGITS),
                "rotations": rotations,
            }
        )
    write_json(args.out / "rope_llama3.json", {"cases": result})


if __name__ == "__main__":
    main()
