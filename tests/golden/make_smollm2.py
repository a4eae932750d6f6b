"""Writes smollm2.json: tokens and logits of SmolLM2-135M-Instruct, its weights
dequantised and rounded to bfloat16, run by transformers in float32."""

import copy

import numpy as np
import torch

from golden import Gguf, arguments, logits, rounded, sha256, tokenizer, write_json

PROSE = (
    "The lighthouse at the end of the harbour had been dark for eleven years when the"
    " letter came. Nobody in the village could say who had written it, but the"
    " instructions were plain: clean the lens, oil the hinges, and light the lamp again"
    " before the first storm of autumn. Old Marta read it twice and then went to look"
    " for her coat."
)

CODE = '''def merge_intervals(intervals):
    """Merge overlapping [start, end] pairs."""
    if not intervals:
        return []
    intervals = sorted(intervals, key=lambda pair: pair[0])
    merged = [list(intervals[0])]
    for start, end in intervals[1:]:
        last = merged[-1]
        if start <= last[1]:
            last[1] = max(last[1], end)
        else:
            merged.append([start, end])
    return merged
'''

CHAT = (
    "<|im_start|>system\n"
    "You are a patient assistant who answers in short paragraphs.<|im_end|>\n"
    "<|im_start|>user\n"
    "Why does bread dough need to rest after it has been kneaded?<|im_end|>\n"
    "<|im_start|>assistant\n"
    "Kneading stretches the gluten in the flour into a tight network. While the dough"
    " rests, that network relaxes, so the dough becomes easier to shape and does not"
    " spring back. At the same time the yeast eats sugars and gives off gas, which makes"
    " the dough rise and builds flavour.<|im_end|>\n"
    "<|im_start|>user\n"
    "How long should 500 g of dough rest at 22 degrees, and how can I tell that it is"
    " ready? I have no thermometer, and my kitchen gets colder after 6 pm.<|im_end|>\n"
    "<|im_start|>assistant\n"
    "Plan for about 90 minutes, but trust the dough more than the clock. It"
)

GREEDY = {
    "capital": "The capital of France is",
    "chat": (
        "<|im_start|>system\n"
        "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
        "<|im_start|>assistant\n"
    ),
    "count": "one, two, three, four,",
}

KEPT = 64
NEW_TOKENS = 24
END_OF_TURN = "<|im_end|>"


def in_bfloat16(model):
    """A bfloat16 copy. As when transformers loads a bfloat16 checkpoint, the
    rotary frequencies stay float32 and the norms compute in float32."""
    result = copy.deepcopy(model).to(torch.bfloat16)
    result.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.clone()
    return result


def greedy(model, tokens, end):
    """New tokens, up to NEW_TOKENS or the end of the turn, and for each the gap
    between the best logit and the next."""
    tokens, new, gaps = list(tokens), [], []
    while len(new) < NEW_TOKENS:
        best = torch.topk(logits(model, tokens)[-1], 2)
        new.append(int(best.indices[0]))
        gaps.append(float(best.values[0] - best.values[1]))
        tokens.append(new[-1])
        if new[-1] == end:
            break
    return new, gaps


def main():
    args = arguments(__doc__, model=True)
    gguf = Gguf(args.model)
    model = gguf.model(round_to_bf16=True)
    lower = in_bfloat16(model)
    text = tokenizer(gguf, special=True)
    vocab = model.config.vocab_size
    print(model.config)

    fixed = sorted(np.random.RandomState(7).choice(vocab, KEPT, replace=False).tolist())
    prompts, errors, references = [], [], []
    agreed = 0
    for name, prompt in (("prose", PROSE), ("code", CODE), ("chat", CHAT)):
        tokens = text.encode(prompt).ids
        assert text.decode(tokens, skip_special_tokens=False) == prompt
        all_logits = logits(model, tokens)
        lower_logits = logits(lower, tokens)
        errors.append((lower_logits - all_logits).double())
        references.append(all_logits.double())
        agreed += int((lower_logits.argmax(-1) == all_logits.argmax(-1)).sum())
        positions = []
        for row in all_logits:
            order = torch.argsort(row, descending=True, stable=True)[:KEPT]
            positions.append(
                {
                    "top_ids": order.tolist(),
                    "top_logits": rounded(row[order], 7),
                    "fixed_logits": rounded(row[fixed], 7),
                }
            )
        prompts.append({"name": name, "text": prompt, "tokens": tokens, "positions": positions})
        loss = torch.nn.functional.cross_entropy(all_logits[:-1], torch.tensor(tokens[1:]))
        print(f"{name}: {len(tokens)} tokens, loss {loss:.3f}")

    error, reference = torch.cat(errors), torch.cat(references)
    statistic = {
        "positions": error.shape[0],
        "max_error": float(f"{error.abs().max():.4g}"),
        "rms_error": float(f"{error.square().mean().sqrt():.4g}"),
        "max_rms_error_of_a_position": float(f"{error.square().mean(-1).sqrt().max():.4g}"),
        "logit_std": float(f"{reference.std():.4g}"),
        "logit_max": float(f"{reference.abs().max():.4g}"),
        "argmax_agreement": float(f"{agreed / error.shape[0]:.4g}"),
    }
    print("bfloat16 against float32:", statistic)

    end = text.token_to_id(END_OF_TURN)
    continuations = []
    for name, prompt in GREEDY.items():
        tokens = text.encode(prompt).ids
        new, gaps = greedy(model, tokens, end)
        continuations.append(
            {
                "name": name,
                "prompt": prompt,
                "tokens": tokens,
                "new_tokens": new,
                "text": text.decode(new, skip_special_tokens=False),
                "gaps": rounded(gaps, 4),
            }
        )
        lower_new, _ = greedy(lower, tokens, end)
        print(
            f"{name}: {prompt!r} -> {continuations[-1]['text']!r}, least gap {min(gaps):.3f},"
            f" bfloat16 {'the same' if lower_new == new else 'differs'}"
        )
    assert "Paris" in continuations[0]["text"]

    write_json(
        args.out / "smollm2.json",
        {
            "model": {"file": args.model.name, "sha256": sha256(args.model)},
            "fixed_ids": fixed,
            "bf16_reference": statistic,
            "greedy": continuations,
            "prompts": prompts,
        },
    )


if __name__ == "__main__":
    main()
