# Source: github.com/AI-Hypercomputer/maxtext, docs/tutorials/diloco_pretraining.md (pull request 4942), recipe 2; shape of Qwen3-8B
# Machine: tpu-v5p:2x4x4x4
python3 -m maxtext.trainers.pre_train.train base_emb_dim=4096 base_num_query_heads=32 base_num_kv_heads=8 base_num_decoder_layers=36\
  base_mlp_dim=12288 head_dim=128 vocab_size=151936 use_qk_norm=true per_device_batch_size=8 max_target_length=2048\
  enable_diloco=true enable_streaming_diloco=true dcn_diloco_parallelism=2 diloco_sync_period=37 num_diloco_fragments=37\
  num_communication_overlapping_steps=0 diloco_outer_lr=0.7 diloco_outer_momentum=0.9 steps=1000 enable_checkpointing=true
