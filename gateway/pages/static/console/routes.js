// Every page of the console: its address, its title, who may see it. Files are loaded when they are wanted.
//
// A view is one Preact component; it is given `{api, go, session, live, tell, ask, search}` and the address'
// parameters (`event` …). `nav`: its name in the navigation.

/** @type {import("./router.js").Route[]} */
export const ROUTES = [
  { path: "/console", title: "Launches", nav: "Launches", needs: "viewer", view: () => import("./launches/page.js").then((file) => file.LaunchesPage) },
  { path: "/console/new", title: "New launch", nav: "New launch", needs: "operator", view: () => import("./create/page.js").then((file) => file.CreatePage) },
  { path: "/console/fleet", title: "Fleet", nav: "Fleet", needs: "viewer", view: () => import("./fleet/page.js").then((file) => file.FleetPage) },
  { path: "/console/audit", title: "Audit", nav: "Audit", needs: "viewer", view: () => import("./records/audit.js").then((file) => file.AuditPage) },
  { path: "/console/keys", title: "Keys", nav: "Keys", needs: "owner", view: () => import("./keys/page.js").then((file) => file.KeysPage) },
  { path: "/console/e/:event", title: "Launch", needs: "viewer", view: () => import("./launch/page.js").then((file) => file.LaunchPage) },
  { path: "/console/e/:event/buyers", title: "Find a buyer", needs: "operator", view: () => import("./buyers/find.js").then((file) => file.FindPage) },
  { path: "/console/e/:event/buyers/:buyer", title: "A buyer", needs: "operator", view: () => import("./buyers/story.js").then((file) => file.StoryPage) },
  { path: "/console/e/:event/rehearse", title: "Rehearse", needs: "operator", view: () => import("./rehearse/page.js").then((file) => file.RehearsePage) },
  { path: "/console/e/:event/off", title: "Call off or move", needs: "viewer", view: () => import("./off/page.js").then((file) => file.OffPage) },
  { path: "/console/e/:event/sales", title: "Sell by hand", needs: "viewer", view: () => import("./sales/page.js").then((file) => file.SalesPage) },
  { path: "/console/e/:event/rules", title: "Rules", needs: "viewer", view: () => import("./rules/page.js").then((file) => file.RulesPage) },
  { path: "/console/e/:event/prices", title: "Prices", needs: "viewer", view: () => import("./prices/page.js").then((file) => file.PricesPage) },
  { path: "/console/e/:event/codes", title: "Presale codes", needs: "viewer", view: () => import("./room/codes.js").then((file) => file.CodesPage) },
  { path: "/console/e/:event/look", title: "Look of the waiting room", needs: "viewer", view: () => import("./room/look.js").then((file) => file.LookPage) },
  { path: "/console/webhooks", title: "Webhooks", needs: "operator", view: () => import("./webhooks/page.js").then((file) => file.WebhooksPage) },
  { path: "/console/webhooks/:webhook", title: "A webhook", needs: "operator", view: () => import("./webhooks/story.js").then((file) => file.WebhookPage) },
  { path: "/console/tours", title: "Tours", needs: "viewer", view: () => import("./tours/page.js").then((file) => file.ToursPage) },
  { path: "/console/tours/:tour", title: "A tour", needs: "viewer", view: () => import("./tours/tour.js").then((file) => file.TourPage) },
  { path: "/console/e/:event/figures", title: "Figures", needs: "viewer", view: () => import("./records/figures.js").then((file) => file.FiguresPage) },
  { path: "/console/e/:event/export", title: "Export", needs: "viewer", view: () => import("./records/export.js").then((file) => file.ExportPage) },
];
