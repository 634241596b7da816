#!/bin/bash
# Source: github.com/NVIDIA/Megatron-LM at d98e8a6, examples/megatron_fsdp/sbatch_mfsdp_deepseek_v3.sh
# Machine: h100:32
EP=${EP:-8}
MBS=${MBS:-4}
GBS=${GBS:-2048}
USE_FSDP=${USE_FSDP:-1}
MODEL=(
  --num-layers 61
  --hidden-size 7168
  --ffn-hidden-size 18432
  --num-attention-heads 128
  --kv-channels 128
  --seq-length 4096
  --make-vocab-size-divisible-by 3232
  --tokenizer-model deepseek-ai/DeepSeek-V3
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
  --micro-batch-size ${MBS}
  --global-batch-size ${GBS}
  --bf16
  --recompute-granularity selective
  --recompute-modules mlp moe mla_up_proj layernorm
)
PARALLEL=(
  --expert-model-parallel-size ${EP}
  --expert-tensor-parallel-size 1
  --use-distributed-optimizer
  --overlap-grad-reduce
)
if [ "${USE_FSDP}" = 1 ]; then
  PARALLEL=("${PARALLEL[@]}" --use-megatron-fsdp --data-parallel-sharding-strategy ${STRATEGY:-"optim_grads_params"})
fi
srun python pretrain_gpt.py \
  ${MODEL[@]} \
  ${TRAINING[@]} \
  ${PARALLEL[@]}
