"""GRPO on two sums for a model that has a shell, in sandboxes of Corral: `python trl_sums.py MODEL`.

The environment `shell` grades: its rows have a field `answer`.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import corral.trl

SUMS = Dataset.from_list(
    [
        {"id": f"{left}x{right}", "answer": str(left * right), "prompt": [{"role": "user", "content": told}]}
        for left, right in ((6, 7), (17, 23))
        for told in [f"What is {left} * {right}? Use the shell, and answer with the number alone."]
    ]
)


def trainer_of(model: Any, **options: Any) -> GRPOTrainer:
    return GRPOTrainer(
        model=model,
        train_dataset=SUMS,
        environment_factory=corral.trl.environment("shell"),
        reward_funcs=corral.trl.reward,
        **options,
    )


if __name__ == "__main__":
    gpu = torch.cuda.is_available()
    options = GRPOConfig(output_dir="out", max_completion_length=2048, use_cpu=not gpu, bf16=gpu)
    trainer_of(sys.argv[1], args=options).train()
