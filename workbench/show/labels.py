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
    # configure
    "system": "系统",
    "begin anew": "新建",
    "convert": "转换",
    "a form of this system that dumps something": "该系统的一个可用配置",
    "say the same there": "在那里表达相同的内容",
    "open a form": "打开配置",
    "save as": "另存为",
    "Save form": "保存配置",
    "Converted; what cannot be said there:": "已转换；以下内容无法表达：",
    "Converted; nothing is lost.": "已转换，没有丢失。",
    "Download": "下载",
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
    # align
    "Run a comparison first; then every match stands here, with its rule.": (
        "请先运行比对；之后这里会列出每个匹配及其规则。"
    ),
    "filter": "筛选",
    "part of a name or type": "名称或类型的一部分",
    "Rule": "规则",
    "any rule": "任意规则",
    "pairs and groups": "一对一与多对多",
    "groups only": "仅多对多",
    "differing only": "仅有差异",
    "show": "显示",
    "Previous page": "上一页",
    "Next page": "下一页",
    "list": "列表",
    "left over": "未匹配",
    "every operator": "全部算子",
    "reason": "原因",
    "relative error": "相对误差",
    "map file": "映射文件",
    "Match these": "配对所选",
    "Ignore these": "忽略所选",
    "Tolerate these": "容忍所选",
    "Take back": "移除",
    "Undo": "撤销",
    "Redo": "重做",
    "Compare again": "重新比对",
    "Save map file": "保存映射文件",
    "Open map file": "打开映射文件",
    "by hand": "手工条目",
    "Target": "目标",
    "Golden": "标杆",
    "Score": "得分",
    "Why": "依据",
    "Worst": "最差状态",
    "of": "/",
    "None of": "无，共",
    "matches shown": "个匹配",
    "in all": "总计",
    "without a partner": "无对应",
    "skipped": "跳过",
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
