"""Words on screen in English and Chinese: one table for widgets, explorer and report.

The English words are the keys, so that code reads as the screen does. What dumps, graphs and findings say is
theirs and is not translated.
"""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

LANGUAGES: dict[Language, str] = {"en": "English", "zh": "中文"}
"""Language → its name in itself."""

CHINESE: dict[str, str] = {
    # the workbench
    "Accuracy workbench": "精度工作台",
    "Language": "语言",
    # steps
    "Configure": "配置",
    "Run": "运行",
    "Align": "对齐",
    "Divergence": "差异",
    "Operator": "算子",
    "Source": "源码",
    "Report": "报告",
    "to do": "待办",
    "ready": "就绪",
    "running": "运行中",
    "done": "完成",
    "cancelled": "已取消",
    "failed": "失败",
    # run
    "graph": "网络",
    "device": "设备",
    "precision mode": "精度模式",
    "default of the device": "设备默认",
    "faults": "故障",
    "iterations": "迭代数",
    "seed": "随机种子",
    "ranks": "卡数",
    "progress": "进度",
    "Run comparison": "运行比对",
    "Cancel run": "取消运行",
    "what to do": "方式",
    "Rehearse on the simulated NPU": "在模拟 NPU 上预演",
    "Compare two trees": "比对两个 dump 目录",
    "profile": "判定标准",
    "Other networks": "其他网络",
    "Plant a fault": "注入故障",
    "from this notebook": "来自本笔记本",
    "model file": "模型文件",
    "kind of fault": "故障类型",
    "in operator": "所在算子",
    "with": "参数",
    "Add fault": "添加故障",
    "one a line": "每行一个",
    "target tree": "目标 dump 目录",
    "golden tree": "标杆 dump 目录",
    "target graph file": "目标图文件",
    "golden graph file": "标杆图文件",
    "target model": "目标模型",
    "golden model": "标杆模型",
    "ranks to compare": "比对的卡",
    "iterations to compare": "比对的迭代",
    "all, or 0, or 0:1": "全部，或 0，或 0:1",
    "Graph files and models": "图文件与模型",
    "Browse": "浏览",
    "entries": "条目",
    "Use this folder": "使用此目录",
    "Copy as code": "复制为代码",
    "The code": "代码",
}
"""English → Chinese."""


def translate(text: str, language: Language) -> str:
    """Return words of the screen in a language; English where the table has none.

    >>> translate("Run", "zh"), translate("Run", "en")
    ('运行', 'Run')
    """
    return CHINESE.get(text, text) if language == "zh" else text
