#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, docs/user-guide/features/pipeline_parallel_layout.md, and the model of examples/post_training/modelopt/conf/deepseek-ai/DeepSeek-R1.sh
# Machine: h100:128
MODEL=(
  --num-layers 61
  --hidden-size 7168
  --ffn-hidden-size 18432
  --num-attention-heads 128
  --seq-length 4096
  --vocab-size 129280
  --mtp-num-layers 1
  --multi-latent-attention
  --q-lora-rank 1536
  --kv-lora-rank 512
  --qk-head-dim 128
  --qk-pos-emb-head-dim 64
  --v-head-dim 128
  --qk-layernorm
  --num-experts 256
  --moe-layer-freq [0]*3+[1]*58
  --moe-ffn-hidden-size 2048
  --moe-shared-expert-intermediate-size 2048
  --moe-router-topk 8
  --moe-router-group-topk 4
  --moe-router-num-groups 8
  --moe-router-enable-expert-bias
  --moe-token-dispatcher-type flex
  --moe-flex-dispatcher-backend hybridep
  --normalization RMSNorm
  --position-embedding-type rope
  --swiglu
  --untie-embeddings-and-output-weights
  --disable-bias-linear
  --attention-dropout 0.0
  --hidden-dropout 0.0
)
TRAINING=(
  --micro-batch-size 1
  --global-batch-size 4096
  --bf16
  --recompute-granularity full
  --recompute-method uniform
  --recompute-num-layers 1
)
PARALLEL=(
  --pipeline-model-parallel-size 16
  --pipeline-model-parallel-layout "Et*3|(tt|)*29,m|L"
  --expert-model-parallel-size 64
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
)
torchrun pretrain_gpt.py \
  ${MODEL[@]} \
  ${TRAINING[@]} \
  ${PARALLEL[@]}
