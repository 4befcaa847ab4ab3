"""A small transformer learns to add: it is shown sums such as 07+85=092 and tells every next character."""

import argparse

import tenuto
import torch
from torch import nn
from torch.nn import functional
from torch.utils import data

ALPHABET = "0123456789+="


def sums(samples: int = 8000) -> data.TensorDataset:
    """Sums as numbered characters, without the last one and without the first one."""
    numbers = torch.randint(100, (samples, 2), generator=torch.Generator().manual_seed(0))
    texts = [f"{a:02}+{b:02}={a + b:03}" for a, b in numbers.tolist()]
    tokens = torch.tensor([[ALPHABET.index(letter) for letter in text] for text in texts])
    return data.TensorDataset(tokens[:, :-1], tokens[:, 1:])


class Transformer(nn.Module):
    """A decoder without dropout, whose chance would not be the same at every size."""

    def __init__(self, length: int = 8, width: int = 64, layers: int = 2) -> None:
        super().__init__()
        self.token = nn.Embedding(len(ALPHABET), width)
        self.place = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of every next character."""
        later = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.layers(self.token(tokens) + self.place, mask=later, is_causal=True))


def main() -> None:
    """Train, and keep the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()

    torch.manual_seed(0)
    dataset = sums()
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    run = tenuto.init()
    model, optimizer, batches = run.elastic(model, optimizer, dataset, global_batch=args.batch, epochs=args.epochs)
    for x, y in batches:
        loss = functional.cross_entropy(model(x).transpose(1, 2), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        run.report(loss=loss)
    run.finish(model)


if __name__ == "__main__":
    main()
