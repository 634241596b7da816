#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/mixtral/train_mixtral_8x7b_distributed.sh
# Machine: h100:4
MODEL=(
  --num-layers 32
  --hidden-size 4096
  --ffn-hidden-size 14336
  --num-attention-heads 32
  --seq-length 4096
  --group-query-attention
  --num-query-groups 8
  --no-masked-softmax-fusion
  --normalization RMSNorm
  --position-embedding-type rope
  --swiglu
  --untie-embeddings-and-output-weights
  --disable-bias-linear
  --attention-dropout 0.0
  --hidden-dropout 0.0
)
MOE=(
  --num-experts 8
  --moe-router-topk 2
  --moe-grouped-gemm
  --moe-token-dispatcher-type alltoall
  --overlap-param-gather
  --overlap-grad-reduce
)
TRAINING=(
  --micro-batch-size 1
  --global-batch-size 256
  --bf16
  --tokenizer-type Llama2Tokenizer
)
PARALLEL=(
  --tensor-model-parallel-size 1
  --pipeline-model-parallel-size 4
  --expert-model-parallel-size 8
  --use-distributed-optimizer
  --sequence-parallel
)
LAUNCH=(
  --nproc_per_node 8
  --nnodes ${SLURM_NNODES:-"4"}
)
torchrun pretrain_gpt.py \
  ${MODEL[@]} \
  ${MOE[@]} \
  ${TRAINING[@]} \
  ${PARALLEL[@]} \
  ${LAUNCH[@]}
