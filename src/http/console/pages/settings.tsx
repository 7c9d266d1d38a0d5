/** `/settings`: the settings of the service, to be read. */
import type { ServiceState } from "../../api/service.ts";
import { Page } from "../components/page.tsx";
import { Facts, sizeText } from "../components/values.tsx";
import { type Html, route, type View } from "../route.ts";

async function SettingsPage({ view }: { view: View }): Promise<Html> {
  const { version, url, settings } = await view.api.get<ServiceState>("service/");
  return (
    <Page view={view} title="Settings" nav="Settings">
      <h1>Settings</h1>
      <p>
        They are flags and variables of <code>hooklaunch serve</code>, and change with a restart:
        {" "}
        <a href="docs/settings">what each does</a>.{" "}
        <a href="retention">What is past its retention</a>.{" "}
        <a href="notifications">Who is told when something fails</a>.
      </p>
      <Facts
        facts={[
          ["Version", version],
          ["Address", <code>{url}</code>],
          ...Object.entries(settings).map(([name, value]) =>
            [nameOf(name), <Value name={name} value={value} />] as const
          ),
        ]}
      />
    </Page>
  );
}

/** Variables are written in capitals; all else are flags. */
function nameOf(name: string): string {
  return /^[A-Z_]+$/.test(name) ? name : `--${name}`;
}

function Value({ name, value }: { name: string; value: string | number | boolean }): Html {
  if (value === "") return <span class="dim">not set</span>;
  if (value === true) return <span>{/^[A-Z_]+$/.test(name) ? "set" : "yes"}</span>;
  if (value === false) return <span class="dim">{/^[A-Z_]+$/.test(name) ? "not set" : "no"}</span>;
  if (name === "max-payload") return <span>{sizeText(Number(value))}</span>;
  return <code>{String(value)}</code>;
}

/** The route of the settings. */
export const settingsRoutes = [
  route({ path: "/settings", show: ({ view }) => SettingsPage({ view }) }),
];
