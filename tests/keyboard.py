"""A reader's hands on a page: Tab to a control, move a slider, answer an exercise."""


def tab_to(page, label):
    """Press Tab until the control with this label has the focus."""
    for _ in range(400):
        focused = page.evaluate("document.activeElement?.labels?.[0]?.textContent ?? ''")
        if focused.startswith(label):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reaches {label!r}")


def slide(page, label, steps):
    """Put a slider ``steps`` to the right of its left end."""
    tab_to(page, label)
    page.keyboard.press("Home")
    for _ in range(steps):
        page.keyboard.press("ArrowRight")


def answer(page, data, value):
    """Give an answer in the exercise's box and return what it says."""
    group = page.get_by_role("group", name=f"Exercise {data['id']}", exact=True)
    if data["kind"] == "choice":
        for box in group.get_by_role("checkbox").all():
            box.set_checked(box.get_attribute("value") in value)
    else:
        group.get_by_role("textbox").fill(", ".join(map(repr, value)) if isinstance(value, list) else value)
        group.get_by_role("textbox").press("Enter")
    if data["kind"] == "choice":
        group.get_by_role("button", name="Check").press("Enter")
    return group.get_by_role("status").inner_text()
