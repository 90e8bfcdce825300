"""How the losses of tokens become one number. Called by the policy's update."""

from typing import Literal

from torch import Tensor

Aggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]


def token_weights(mask: Tensor, aggregation: Aggregation) -> Tensor:
    """Weight of each token, so that the loss of a batch is the sum of weight times token loss.

    `mask` [samples, tokens] is 1 on response tokens of the whole mini-batch. Since weights are fixed before the
    mini-batch is cut into micro-batches, accumulated gradients do not depend on the cut. Empty responses weigh nothing.

    token-mean: every token the same (DAPO, arXiv:2503.14476); seq-mean-token-mean: every response the same (GRPO);
    seq-mean-token-sum: token losses summed; seq-mean-token-sum-norm: that, divided by the width of `mask` (Dr. GRPO).
    """
    samples, width = mask.shape
    if aggregation == "token-mean":
        return mask / mask.sum().clamp(min=1)
    if aggregation == "seq-mean-token-mean":
        return mask / mask.sum(dim=1, keepdim=True).clamp(min=1) / samples
    if aggregation == "seq-mean-token-sum":
        return mask / samples
    return mask / samples / width
