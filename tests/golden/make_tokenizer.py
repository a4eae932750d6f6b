"""Writes tokenizer_smollm2.json: token ids of many texts, and two conversations
rendered by the model's chat template."""

import numpy as np
from transformers import PreTrainedTokenizerFast

from golden import Gguf, arguments, byte_characters, sha256, tokenizer, write_json

ENGLISH = [
    "",
    "a",
    "Hello",
    "Hello, world!",
    "Hello, World! How are you today?",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG",
    "It was the best of times, it was the worst of times.",
    "Dr. Smith's re-election (2nd term) -- surprising? Yes/no; maybe...",
    "An e-mail to someone@example.com, see https://example.com/a?b=c&d=%20#top",
    "\u201cCurly quotes\u201d and \u2018single\u2019 ones \u2014 with an em dash\u2026",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9 \u00fcber stra\u00dfe \u0153uvre",
    "antidisestablishmentarianism",
    "pneumonoultramicroscopicsilicovolcanoconiosis",
    "camelCaseIdentifier snake_case_identifier SCREAMING_SNAKE_CASE kebab-case",
    "McDonald's O'Brien's rock'n'roll '90s",
]

CONTRACTIONS = [
    "I'm you're he's we'll they've I'd isn't",
    "I'M YOU'RE HE'S WE'LL THEY'VE I'D ISN'T",
    "'s 't 're 've 'm 'll 'd",
    "'sx 'tx 'rex 'vex 'mx 'llx 'dx",
    "'S 'T 'RE 'VE 'M 'LL 'D",
    "'''s''t'",
    " 's 't",
    "don\u2019t won\u2019t it\u2019s",
    "1's 2'll 3've",
    "y'all'd've",
    "can't've",
    "'",
    "''",
    "'r 'l 'v",
]

NUMBERS = [
    "0",
    "7",
    "42",
    "1234567 3.14",
    "1234567",
    " 1234567",
    "  12  34  ",
    "1,234,567.89",
    "-1 +2 3e10 0x1F 0b101",
    "a1b2c3",
    "abc123def456",
    "123abc",
    "2024-02-29T23:59:59Z",
    "100%",
    "$19.99",
    "1st 2nd 3rd",
    "\u00bd \u00b2 \u00b3 \u2075 \u2460 \u2167",
    "x\u00b2+y\u00b2",
    "\u0661\u0662\u0663 \u0967\u0968\u0969 \uff11\uff12\uff13",
    "\u3007\u4e00\u4e8c\u4e09",
    "\u2150\u2151a\u2152",
    "1 2 3\n4 5 6",
]

SPACES = [
    " ",
    "  ",
    "   ",
    "    ",
    " a",
    "  a",
    "   a",
    "a ",
    "a  ",
    "a   ",
    "a b",
    "a  b",
    "a   b",
    "a    b",
    "a     b        c",
    " leading",
    "trailing ",
    "  both  ",
    " " * 16 + "x",
    " " * 31,
    " " * 100,
    " ! ",
    "  !  ",
    " 1 ",
    "  1  ",
    "\t",
    "\t\t",
    "\ta",
    "a\t",
    "a\tb",
    "a\t\tb",
    "a \tb",
    "a\t b",
    "\t \t ",
    "\n",
    "\n\n",
    "\n\n\n",
    "\na",
    "a\n",
    "a\nb",
    "a\n\nb",
    "a\n\n\nb",
    "a \n b",
    "a\n b",
    "a \nb",
    "a\n  b",
    "\r",
    "\r\n",
    "\r\n\r\n",
    "a\r\nb",
    "a\rb",
    "line one\r\nline two\r\n\r\nline three\r\n",
    "a\x0bb\x0cc",
    " \x0b \x0c ",
    "a\u00a0b",
    "a\u00a0\u00a0b ",
    "a\u2003b\u2009c",
    "a\u3000b\u3000\u3000c",
    "a\u2028b\u2029c",
    "a\u0085b",
    "a\u200bb\u2060c\ufeffd",
    "\ufeffbyte order mark",
    "\u1680a\u180eb\u205fc\u202fd",
    "end \n",
    "end\n ",
    "end\n\n  \n",
]

CODE = [
    "def f(x):\n    return x + 1\n",
    "for (int i = 0; i < 10; ++i) {\n\tstd::cout << i << '\\n';\n}\n",
    "if (a && b || !c) { x->y = *z; }",
    "#include <vector>\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n",
    "const f = async (x) => { await g(`${x}`); };",
    "SELECT name, COUNT(*) FROM users WHERE age >= 18 GROUP BY name;",
    '{"key": [1, 2.5, null, true], "nested": {"a": "b\\n"}}',
    "<div class=\"a b\"><!-- note --><br/></div>",
    "\\begin{equation} E = mc^2 \\end{equation}",
    "grep -rn 'foo.*bar' --include='*.py' . | sort | uniq -c",
    "x = {**a, 'b': [*c]}  # comment",
    "@decorator\nclass A(B):\n    '''Doc.'''\n\n    def __init__(self):\n        self._x = 0xFF\n",
    "        deep = indentation\n            deeper\n",
    "fn main() -> Result<(), Box<dyn Error>> { Ok(()) }",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "# Title\n\n- item\n  - nested\n\n```sh\nls -la\n```\n",
    "a=b==c===d!=e!==f<=g>=h<<i>>j",
    "................",
    "----------------",
    "================================",
    "!@#$%^&*()_+-=[]{}|;':\",./<>?`~\\",
    "/* c */ // cpp -- sql ; asm",
    "C:\\Users\\name\\file.txt /usr/local/bin",
]

SCRIPTS = [
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01",
    "\u6211\u7231\u673a\u5668\u5b66\u4e602024\u5e74",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c\u3002\u30ab\u30bf\u30ab\u30ca",
    "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u0627\u0644\u0633\u064e\u0651\u0644\u064e\u0627\u0645\u064f",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "Ti\u1ebfng Vi\u1ec7t r\u1ea5t hay",
    "\u0130stanbul I\u0131 \u01c5 \u02b0",
    "e\u0301 a\u0308 n\u0303",
    "e\u0301\u0301\u0301 x\u20d7",
    "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033da\u0334\u0319\u0324l\u0335g\u0348o",
    " \u0301",
    "\ufb01 \u2126 \u212b \u1e9e",
    "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f5\U0001d4f8",
    "\U00020000\U00020001",
    "\u2200x\u2208\u211d: x\u00b2 \u2265 0 \u21d2 \u221a(x\u00b2) = |x|",
    "\u20ac5 \u00a33 \u00a57 \u20b910 \u00a9 \u00ae \u2122",
    "\u2500\u2502\u250c\u2510\u2588\u2591",
    "\u2022 bullet \u2192 arrow \u2713 tick",
    "\ue000\uf8ff",
    "\U0010ffff \ufffd \ufffe",
]

EMOJI = [
    "\U0001f600",
    "Hello \U0001f44b world \U0001f30d!",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb codes",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f1eb\U0001f1f7\U0001f1ef\U0001f1f5",
    "\u2764\ufe0f\u2764",
    "1\ufe0f\u20e3 #\ufe0f\u20e3",
    "\U0001f602\U0001f602\U0001f602\U0001f602",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "a\U0001f600b\U0001f6001",
]

LONG = [
    "a" * 500,
    "ab" * 300,
    "supercalifragilisticexpialidocious" * 20,
    "the" * 100,
    "=" * 300,
    "\n" * 50,
    "9" * 60,
    "\u00e9" * 100,
    "\u4e2d" * 60,
    "word " * 80,
    "ha" * 17 + "!" * 23,
]

CONTROL = [
    "\x01\x02\x03",
    "a\x1bb",
    "\x1b[31mred\x1b[0m",
    "a\x7fb",
    "\x08\x0e\x0f",
    "a\x80b\x9fc",
    "a\x04b",
    "\x06",
    "!\x13!\x14!",
    "x\x16 \x1d y",
]

SPECIAL = [
    "<|im_start|>",
    "<|endoftext|>",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|><|im_end|><|endoftext|>",
    "a<|im_start|>b",
    "a <|im_start|> b",
    "  <|im_end|>  ",
    "\n<|im_end|>\n",
    "1<|im_start|>2",
    "<|im_start|",
    "<|im_start|<|im_start|>",
    "<<|im_start|>>",
    "|im_start|>",
    "<|IM_START|>",
    "<| im_start |>",
    "<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n",
    "<repo_name>me/project<file_sep>a.py\nprint(1)\n<|endoftext|>",
    "<reponame><repo_name><filename><gh_stars>10-100",
    "<issue_start>bug<issue_comment>text<issue_closed>",
    "<jupyter_start><jupyter_text>T<jupyter_code>x = 1<jupyter_output>1<jupyter_script>",
    "<empty_output>",
    "<fim_prefix>",
    "it's<|im_end|>'s",
    "\U0001f600<|im_end|>\U0001f600",
    "",
    "no specials here",
]

CONVERSATIONS = [
    [
        {"role": "user", "content": "What is the capital of France?"},
    ],
    [
        {"role": "system", "content": "You answer briefly.\nUse at most one sentence."},
        {"role": "user", "content": "Name three colours."},
        {"role": "assistant", "content": "Red, green and blue."},
        {"role": "user", "content": "  And a fourth? \U0001f3a8\n"},
    ],
]

# Ranges that have long been stable in Unicode; a random text draws a few of
# them and then characters from those.
ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "0123456789",
    "     \t\n",
    "'stremvld'",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "".join(map(chr, range(0xC0, 0x180))),
    "".join(map(chr, range(0x391, 0x3A2))) + "".join(map(chr, range(0x3B1, 0x3CA))),
    "".join(map(chr, range(0x410, 0x450))),
    "".join(map(chr, range(0x621, 0x63B))),
    "".join(map(chr, range(0x300, 0x340))),
    "".join(map(chr, range(0x4E00, 0x4F00))),
    "".join(map(chr, range(0xAC00, 0xAC80))),
    "".join(map(chr, range(0x3041, 0x3097))),
    "".join(map(chr, range(0x1F600, 0x1F640))),
    "\u00a0\u2003\u3000\r\n\x0b\x0c \u200d\ufe0f",
    "\u00bd\u00b2\u0665\u096b\u2167\u3007\u2460",
]

WORDS = (
    "the of and to in a is that for it as was with be by on not he i this are or his"
    " from at which but have an had they you were there one all we can her has would"
    " don't it's we'll I'm Paris Monday 42 1999 3.5 e.g. -- ( ) \n \n\n \t hello"
).split(" ")

RANDOM_MIXES = 40
RANDOM_WORDS = 20


def random_texts():
    random = np.random.RandomState(20)
    pick = lambda items: items[random.randint(len(items))]
    for _ in range(RANDOM_MIXES):
        alphabets = [pick(ALPHABETS) for _ in range(random.randint(2, 6))]
        yield "".join(pick(pick(alphabets)) for _ in range(random.randint(5, 60)))
    for _ in range(RANDOM_WORDS):
        words = [pick(WORDS) for _ in range(random.randint(5, 40))]
        yield "".join(word + " " * int(random.randint(1, 3)) for word in words)


def main():
    args = arguments(__doc__, model=True)
    gguf = Gguf(args.model)
    vocabulary = set(gguf.get("tokenizer.ggml.tokens"))
    missing = [b for b, c in byte_characters().items() if c not in vocabulary]

    texts = [*ENGLISH, *CONTRACTIONS, *NUMBERS, *SPACES, *CODE, *SCRIPTS, *EMOJI, *LONG, *CONTROL]
    texts += [chr(c) for c in range(1, 128)]
    texts += random_texts()
    pairs = [(text, False) for text in texts]
    pairs += [(text, special) for special in (True, False) for text in SPECIAL]
    pairs = list(dict.fromkeys(pairs))

    tokenizers = {special: tokenizer(gguf, special) for special in (False, True)}
    cases = []
    for text, special in pairs:
        ids = tokenizers[special].encode(text).ids
        decoded = tokenizers[special].decode(ids, skip_special_tokens=False)
        lossless = not set(text.encode()) & set(missing)
        assert (decoded == text) == lossless, (text, decoded)
        cases.append({"text": text, "special": special, "lossless": lossless, "ids": ids})
    print(f"{len(cases)} cases, {sum(not c['lossless'] for c in cases)} not lossless")

    renderer = PreTrainedTokenizerFast(
        tokenizer_object=tokenizers[True], chat_template=gguf.get("tokenizer.chat_template")
    )
    chat = []
    for messages in CONVERSATIONS:
        text = renderer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        chat.append(
            {"messages": messages, "text": text, "ids": tokenizers[True].encode(text).ids}
        )
        print(repr(text))

    write_json(
        args.out / "tokenizer_smollm2.json",
        {
            "model": {"file": args.model.name, "sha256": sha256(args.model)},
            "missing_bytes": sorted(missing),
            "cases": cases,
            "chat": chat,
        },
    )


if __name__ == "__main__":
    main()
