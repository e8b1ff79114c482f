// Launcher card and palette entry that open a copy of the dashboard notebook.
// This is a module federation container as the official builder would emit one, written by hand: JupyterLab calls `init` with
// the modules that it shares, then `get` for the plugin. Whatever another version of it lacks, this extension does without.
(() => {
  const NAME = 'npu-accuracy-workbench';
  const TITLE = 'Accuracy workbench';
  const TEMPLATE = new URL('dashboard.ipynb', document.currentScript?.src || location.href);
  const ICON = `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">
    <g fill="none" stroke="#5b6470" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
    <path d="M3 3v18h18"/><path d="M7 16h4l3.5-2 5.5-8"/><path d="M15 17h5" stroke-dasharray=".1 3"/></g>
    <circle cx="11" cy="16" r="2.6" fill="#d55e00"/></svg>`)}`;
  let scope = {};

  const shared = async (name) => {
    try {
      const [module] = Object.values(scope[name]);
      return (await module.get())();
    } catch {
      return {};
    }
  };

  const nameIn = async (contents, folder) => {
    const taken = new Set((await contents.get(folder)).content.map((item) => item.name));
    let name = 'accuracy-workbench.ipynb';
    for (let n = 1; taken.has(name); n++) name = `accuracy-workbench-${n}.ipynb`;
    return !folder || folder.endsWith(':') ? folder + name : `${folder}/${name}`;
  };

  const openCopy = async (app, folder) => {
    const answer = await fetch(TEMPLATE, { cache: 'no-cache' });
    if (!answer.ok) throw new Error(`${TEMPLATE.pathname}: ${answer.status} ${answer.statusText}`);
    const contents = app.serviceManager.contents;
    const path = await nameIn(contents, folder);
    await contents.save(path, { type: 'notebook', format: 'json', content: await answer.json() });
    return app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
  };

  const makePlugin = async () => {
    const [{ ILauncher }, { ICommandPalette, showErrorMessage }, { IDefaultFileBrowser }] =
      await Promise.all(['launcher', 'apputils', 'filebrowser'].map((name) => shared(`@jupyterlab/${name}`)));
    const wanted = { launcher: ILauncher, palette: ICommandPalette, browser: IDefaultFileBrowser };
    const names = Object.keys(wanted).filter((name) => wanted[name]);
    const activate = (app, ...given) => {
      const { launcher, palette, browser } = Object.fromEntries(names.map((name, i) => [name, given[i]]));
      const command = `${NAME}:open`;
      app.commands.addCommand(command, {
        label: TITLE,
        caption: 'Find the operator that makes a network\'s numbers differ on an NPU',
        execute: async ({ cwd } = {}) => {
          try {
            return await openCopy(app, cwd ?? browser?.model.path ?? '');
          } catch (error) {
            return showErrorMessage?.(`${TITLE}: no notebook could be made`, error);
          }
        },
      });
      launcher?.add({ command, category: 'Notebook', rank: 10, kernelIconUrl: ICON });
      palette?.addItem({ command, category: 'Notebook Operations' });
    };
    return { id: `${NAME}:plugin`, autoStart: true, optional: names.map((name) => wanted[name]), activate };
  };

  (window._JUPYTERLAB ??= {})[NAME] = {
    init: (modules) => { scope = modules; },
    get: async () => {
      const plugin = await makePlugin();
      return () => ({ __esModule: true, default: plugin });
    },
  };
})();
