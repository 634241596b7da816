# Source: github.com/AI-Hypercomputer/maxtext at e591f30, src/maxtext/configs/tpu/v5e/llama2_70b.sh
# Machine: tpu-v5e:2x16x16
python3 -m MaxText.train configs/base.yml model_name=llama2-70b\
  base_output_directory=$OUTPUT_PATH dataset_type=synthetic per_device_batch_size=2 remat_policy=qkv_proj_offloaded\
  steps=15 enable_checkpointing=false use_iota_embed=true
